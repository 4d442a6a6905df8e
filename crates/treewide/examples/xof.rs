//! Makes 10 MB of extended output: at once with threads, in pieces, and from the middle.
//!
//! ```text
//! cargo run --release -p treewide --all-features --example xof
//! ```

use std::io::{Read, Seek, SeekFrom};

use treewide::Hasher;

fn main() -> std::io::Result<()> {
    let mut hasher = Hasher::new_derive_key("example.com 2026-11-25 test data v1");
    hasher.update(b"seed");

    let mut all = vec![0; 10_000_000];
    hasher.finalize_xof().fill_parallel(&mut all);
    println!("the first bytes: {:02x?}", &all[..8]);

    // `Read` never ends and never fails.
    let mut pieces = Vec::new();
    hasher.finalize_xof().take(10_000_000).read_to_end(&mut pieces)?;
    assert_eq!(pieces, all);

    // Any place costs the same.
    let mut reader = hasher.finalize_xof();
    reader.seek(SeekFrom::Start(9_999_990))?;
    let mut end = [0; 10];
    reader.read_exact(&mut end)?;
    assert_eq!(end, all[9_999_990..]);
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
