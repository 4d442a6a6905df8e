//! Headers of GGUF files: what is taken, and each fault.

use crate::files::{Gguf, Info, text};
use crate::safetensors::cause;
use std::io::Cursor;
use treewide_tensors::header;

fn file() -> Gguf {
    Gguf::new(&[
        ("f32", 0, &[4, 2], &[1; 32]),
        ("q8", 8, &[64], &[2; 68]),
        ("scalar", 1, &[], &[3; 2]),
    ])
}

#[test]
fn gguf_has_shapes_the_other_way_round_and_types_of_ggml() {
    for version in [2, 3] {
        for alignment in [32, 64, 1 << 12] {
            let mut file = Gguf { version, alignment, ..file() };
            if alignment != 32 {
                file = file.key("general.alignment", 4, &(alignment as u32).to_le_bytes());
                let (data, mut infos) = (file.data.clone(), file.infos.clone());
                file.data.clear();
                for (info, length) in infos.iter_mut().zip([32, 68, 2]) {
                    let at = file.data.len().next_multiple_of(alignment);
                    file.data.resize(at, 0);
                    file.data.extend(&data[info.3 as usize..][..length]);
                    info.3 = at as u64;
                }
                file.infos = infos;
            }
            let bytes = file.bytes();
            let found = header::read(Cursor::new(&bytes), bytes.len() as u64).unwrap().tensors;
            let about: Vec<_> =
                found.iter().map(|it| (&*it.name, &*it.dtype, &*it.shape)).collect();
            assert_eq!(
                about,
                [("f32", "F32", &[2, 4][..]), ("q8", "Q8_0", &[64]), ("scalar", "F16", &[])]
            );
            for (tensor, byte) in found.iter().zip([1, 2, 3]) {
                let place = tensor.range.start as usize..tensor.range.end as usize;
                assert!(bytes[place].iter().all(|it| *it == byte), "{}", tensor.name);
            }
        }
    }
}

#[test]
fn gguf_of_every_fault_is_refused() {
    let info = |change: &dyn Fn(&mut Info)| {
        let mut file = file();
        change(&mut file.infos[1]);
        file.bytes()
    };
    let key = |kind, value: &[u8]| file().key("general.alignment", kind, value).bytes();
    let cases = [
        (Gguf { version: 1, ..file() }.bytes(), "GGUF version 1;"),
        (
            Gguf { version: 3 << 24, ..file() }.bytes(),
            "GGUF version 3 with the bytes of numbers in the other order",
        ),
        (
            Gguf { tensors: Some(1 << 60), ..file() }.bytes(),
            "no room for 1152921504606846976 tensors",
        ),
        (
            Gguf { keys: Some(u64::MAX), ..file() }.bytes(),
            "no room for 3 tensors and 18446744073709551615 keys",
        ),
        (Gguf { tensors: Some(4), ..file() }.bytes(), ""),
        (file().key("x", 13, &[]).bytes(), "a value has the type 13"),
        (
            file().key("x", 9, &[9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0].repeat(5)).bytes(),
            "more than 4 deep",
        ),
        (
            file()
                .key("x", 9, &[&10_u32.to_le_bytes()[..], &u64::MAX.to_le_bytes()].concat())
                .bytes(),
            "cut off",
        ),
        (
            file()
                .key("x", 9, &[&8_u32.to_le_bytes()[..], &u64::MAX.to_le_bytes()].concat())
                .bytes(),
            "cut off",
        ),
        (file().key("tokens", 0, &[0]).bytes(), "key 'tokens' is there twice"),
        (file().key(&"k".repeat(70_000), 0, &[0]).bytes(), "would have 70000 bytes"),
        (key(4, &24_u32.to_le_bytes()), "general.alignment is 24"),
        (key(4, &[0; 4]), "general.alignment is 0"),
        (key(8, &text("32")), "general.alignment is not a number"),
        (info(&|it| it.0 = b"f32".to_vec()), "tensor 'f32' is there twice"),
        (info(&|it| it.0 = b"\xff".to_vec()), "is not UTF-8"),
        (
            info(&|it| it.1 = vec![48]),
            "'q8': rows of [48] are not whole blocks of 32 items of Q8_0",
        ),
        (info(&|it| it.1 = vec![1; 9]), "9 dimensions"),
        (info(&|it| it.1 = vec![1 << 40, 1 << 40]), "does not fit into a file"),
        (info(&|it| it.2 = 4), "the type 4, which"),
        (info(&|it| it.3 = 40), "not a multiple of 32"),
        (info(&|it| it.3 = u64::MAX - 31), "does not fit into a file"),
        (info(&|it| it.3 = 0), "tensors 'f32' and 'q8' overlap"),
        (info(&|it| it.3 = 1 << 20), "'scalar', do not belong to a tensor"),
        (info(&|it| it.1 = vec![32]), "bytes 66 to 128 of the data, before tensor 'scalar'"),
        ([file().bytes(), vec![0; 32]].concat(), "the last 32 bytes of the file"),
    ];
    for (bytes, expected) in &cases {
        let found = cause(bytes);
        assert!(found.contains(expected), "{found}\n{expected}");
    }
    println!("gguf: {} faults", cases.len());
}

#[test]
fn gguf_that_is_cut_anywhere_is_refused() {
    let bytes = file().bytes();
    for length in 0..bytes.len() {
        cause(&bytes[..length]);
    }
}
