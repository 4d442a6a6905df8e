//! Writes the known answers in `vectors/`, with the `blake3` crate as the oracle.
//!
//! `cargo run -p treewide-vectors` rewrites the files. With `--check` it writes nothing and fails
//! where a file differs from its answers. The format is described in `vectors/README.md`;
//! the questions are all in `cases`.

mod cases;
mod files;
mod oracle;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let check = match std::env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => {
            eprintln!("usage: treewide-vectors [--check]");
            return ExitCode::from(2);
        }
    };
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors");
    let mut failed = false;
    let files = [
        ("hash.json", files::hash()),
        ("lengths.json", files::lengths()),
        ("xof.json", files::xof()),
        ("hazmat.json", files::hazmat()),
        ("outboard.json", files::outboard()),
    ];
    for (name, (cases, text)) in files {
        let path = dir.join(name);
        if check {
            match fs::read_to_string(&path) {
                Ok(found) if found == text => println!("{name}: {cases} cases, unchanged"),
                Ok(_) => {
                    eprintln!("{}: differs from the answers of the oracle", path.display());
                    failed = true;
                }
                Err(error) => {
                    eprintln!("{}: {error}", path.display());
                    failed = true;
                }
            }
        } else if let Err(error) = fs::write(&path, &text) {
            eprintln!("{}: {error}", path.display());
            failed = true;
        } else {
            println!("{name}: {cases} cases, {} bytes", text.len());
        }
    }
    ExitCode::from(u8::from(failed))
}
