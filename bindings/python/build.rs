//! Takes the docstrings of `_treewide.pyi`, so that `help` says what editors say.

use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs, io};

/// In the repository, and in the source distribution, which has the Python files at its top.
const STUBS: [&str; 2] = ["python/treewide/_treewide.pyi", "../../python/treewide/_treewide.pyi"];

fn main() -> io::Result<()> {
    let stub = STUBS.into_iter().find(|it| Path::new(it).exists()).expect("the stub is there");
    println!("cargo::rerun-if-changed={stub}");
    let out = env::var_os("OUT_DIR").expect("Cargo names a folder");
    for (name, text) in docstrings(&fs::read_to_string(stub)?) {
        fs::write(Path::new(&out).join(name), text)?;
    }
    Ok(())
}

/// The docstrings of a stub: `digest` of a function or class, `blake3.update` of a method.
fn docstrings(stub: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let (mut class, mut name) = (String::new(), None);
    let mut lines = stub.lines();
    while let Some(line) = lines.next() {
        let text = line.trim_start();
        let of = |rest: &str| rest.split(['(', ':', '[']).next().unwrap_or_default().to_owned();
        if let Some(rest) = text.strip_prefix("class ") {
            class = of(rest);
            name = Some(class.clone());
        } else if let Some(rest) = text.strip_prefix("def ") {
            let is_method = text.len() < line.len();
            name = Some(if is_method { format!("{class}.{}", of(rest)) } else { of(rest) });
        }
        if text.ends_with("...") {
            name = None;
        }
        let Some(first) = text.strip_prefix("\"\"\"") else { continue };
        let mut doc = first.to_owned();
        while !doc.ends_with("\"\"\"") {
            let next = lines.next().expect("a docstring ends");
            doc = format!("{doc}\n{}", next.get(line.len() - text.len()..).unwrap_or_default());
        }
        // Of a function with several signatures, one has the text.
        if let Some(name) = name.take() {
            found
                .entry(name)
                .or_insert_with(|| doc.trim_end_matches("\"\"\"").trim_end().to_owned());
        }
    }
    found
}
