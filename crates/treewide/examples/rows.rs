//! Hashes a million rows that lie in one buffer, and copies none of them.
//!
//! ```text
//! cargo run --release -p treewide --all-features --example rows
//! ```

use std::io::Write as _;

use treewide::Batch;
use treewide::batch::Packed;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run(1_000_000)
}

fn run(count: usize) -> Result<(), Box<dyn std::error::Error>> {
    // As Arrow keeps strings: row `i` is `bytes[offsets[i]..offsets[i + 1]]`.
    let (mut bytes, mut offsets) = (Vec::new(), vec![0_u32]);
    for row in 0..count {
        write!(bytes, "{row},customer {},paid", row % 997)?;
        offsets.push(u32::try_from(bytes.len())?);
    }

    // Fails where an offset decreases or is beyond the end, and says which.
    let rows = Packed::new(&bytes, &offsets)?;
    let digests = Batch::new().threads(usize::MAX).hash(&rows);

    println!("{} rows, {} bytes, the last: {}", digests.len(), bytes.len(), digests[count - 1]);
    let last = &bytes[offsets[count - 1] as usize..];
    assert_eq!(digests[count - 1], treewide::hash(last));
    Ok(())
}

#[test]
fn runs() {
    run(10_000).unwrap();
}
