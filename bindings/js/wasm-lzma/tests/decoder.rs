//! A file that npm's `lzma` compressed, of content that has all kinds of steps. `bindings/js/build.mjs` compresses with the same package.

use std::panic::catch_unwind;

use treewide_wasm_lzma::Decoder;

const FILE: &[u8] = include_bytes!("content.lzma");

/// Repeats from afar, changed bytes between them, runs of one byte, and a part that does not repeat.
fn content() -> Vec<u8> {
    let byte = |i: usize| {
        if i.is_multiple_of(3) && 60_000 < i && i < 60_200 {
            (i * i) >> 3
        } else if i % 4001 > 3900 {
            0
        } else if i % 1009 < 3 {
            i >> 4
        } else {
            i % 251
        }
    };
    (0..70_000).map(|i| byte(i) as u8).collect()
}

fn decompress(file: &[u8], size: usize) -> Vec<u8> {
    let mut decoder = Box::new(Decoder::new());
    decoder.input[..file.len()].copy_from_slice(file);
    decoder.decompress(size)[..size].to_vec()
}

#[test]
fn decoder_restores_the_content() {
    let content = content();
    assert!(decompress(FILE, content.len()) == content);
    // A second time, which begins as the first did.
    let mut decoder = Box::new(Decoder::new());
    decoder.input[..FILE.len()].copy_from_slice(FILE);
    for _ in 0..2 {
        assert!(decoder.decompress(content.len())[..content.len()] == content);
    }
}

#[test]
fn decoder_reads_and_writes_nothing_outside_of_its_memory() {
    // A match before the first byte, an input that ends, and a size beyond the output.
    assert!(catch_unwind(|| decompress(&[255; 40], 10)).is_err());
    assert!(catch_unwind(|| decompress(&FILE[..50], treewide_wasm_lzma::OUTPUT + 1)).is_err());
    assert!(catch_unwind(|| decompress(FILE, treewide_wasm_lzma::OUTPUT + 1)).is_err());
    let mut cases = 0;
    for at in 14..FILE.len() {
        let mut file = FILE.to_vec();
        file[at] ^= 0x55;
        // Whatever comes out of it, or a panic of `at`.
        if let Err(message) = catch_unwind(|| decompress(&file, 70_000)) {
            let message = message.downcast_ref::<&str>().copied().unwrap_or_default();
            assert_eq!(
                message, "the file is damaged, or its content has another size",
                "byte {at}"
            );
        }
        cases += 1;
    }
    println!("{cases} cases");
}
