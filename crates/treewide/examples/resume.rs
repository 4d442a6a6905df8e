//! Begins to hash in one process and continues in another, by the state of the hasher in a file.
//!
//! ```text
//! cargo run --release -p treewide --example resume
//! ```

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use treewide::Hasher;

/// The variable that says to a child where the state is.
const STATE: &str = "TREEWIDE_EXAMPLE_STATE";

fn main() -> Result<(), Box<dyn Error>> {
    match env::var_os(STATE) {
        Some(path) => second_half(path.as_ref()),
        None => {
            let path = env::temp_dir().join(format!("treewide-state-{}", std::process::id()));
            let done = first_half(&path);
            let _ = fs::remove_file(&path); // it does no harm if it stays
            done
        }
    }
}

fn first_half(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut hasher = Hasher::new();
    hasher.update(b"first half, ");
    // As secret as the input: the state holds some of it, and the key if there is one.
    fs::write(path, hasher.to_state().as_bytes())?;

    let mut child = Command::new(env::current_exe()?);
    let output = child.args(env::args_os().skip(1)).arg("--nocapture").env(STATE, path).output()?;
    let text = String::from_utf8(output.stdout)?;
    print!("{text}");
    assert!(text.contains(&treewide::hash(b"first half, second half").to_string()));
    Ok(())
}

fn second_half(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut hasher = Hasher::from_state(&fs::read(path)?)?;
    println!("{}", hasher.update(b"second half").finalize());
    Ok(())
}

/// The child is this program with the same arguments, so a test runs it as a test.
#[test]
fn runs() {
    main().unwrap();
}
