//! Four processes hash a quarter of an input each, and a fifth makes one digest of their results.
//!
//! ```text
//! cargo run --release -p treewide --example processes
//! ```

use std::env;
use std::error::Error;
use std::process::{Command, Stdio};

use treewide::hazmat::Subtrees;
use treewide::hazmat::groups;
use treewide::{CHUNK_LEN, Hash, Mode};

/// Chunks of a part: a power of two. The last part is as short as it comes.
const CHUNKS: usize = 1024;
const PART: usize = CHUNKS * CHUNK_LEN;
/// Says to a child which part is its own.
const NUMBER: &str = "TREEWIDE_EXAMPLE_PART";

fn main() -> Result<(), Box<dyn Error>> {
    // In earnest each process reads its part only, from a file or an object store.
    let input: Vec<u8> = (0..3 * PART + 12_345).map(|place| (place % 251) as u8).collect();
    let parts: Vec<&[u8]> = input.chunks(PART).collect();
    if let Ok(number) = env::var(NUMBER) {
        let number: usize = number.parse()?;
        let mut cv = [[0; 32]];
        groups::fill(parts[number], (number * PART) as u64, CHUNKS, Mode::PLAIN, &mut cv);
        println!("\ncv={}", Hash::from_bytes(cv[0])); // `Hash` writes and reads the hex
        return Ok(());
    }

    let child = |number: usize| {
        let mut child = Command::new(env::current_exe()?);
        child.args(env::args_os().skip(1)).arg("--nocapture");
        child.env(NUMBER, number.to_string()).stdout(Stdio::piped()).spawn()
    };
    let children: Vec<_> = (0..parts.len()).map(child).collect::<Result<_, _>>()?;
    let mut cvs = Vec::new();
    for child in children {
        let text = String::from_utf8(child.wait_with_output()?.stdout)?;
        let hex = text.lines().find_map(|line| line.strip_prefix("cv=")).ok_or("no answer")?;
        cvs.push(*Hash::from_hex(hex)?.as_bytes());
    }
    let mut whole = Subtrees::new(Mode::PLAIN);
    let (last, others) = cvs.split_last().ok_or("no part")?;
    whole.push(others, CHUNKS.ilog2());
    whole.push_last(last, parts[others.len()].len().div_ceil(CHUNK_LEN) as u64);
    let digest = whole.finalize();
    println!("{} processes: {digest}", parts.len());
    assert_eq!(digest, treewide::hash(&input));
    Ok(())
}

/// The child is this program with the same arguments, so a test runs it as a test.
#[test]
fn runs() {
    main().unwrap();
}
