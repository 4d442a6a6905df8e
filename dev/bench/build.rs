//! Records the sources of the program for its reports: commit, uncommitted changes, compiler.

use std::process::Command;

fn output(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The files that determine the machine code. Other files may differ from the commit.
const CODE: [&str; 4] = ["../../crates", "../../Cargo.toml", "../../Cargo.lock", "src"];

fn main() {
    println!("cargo::rustc-check-cfg=cfg(rscrypto)");
    for path in CODE.into_iter().chain(["../../.git/logs/HEAD"]) {
        println!("cargo::rerun-if-changed={path}");
    }
    let commit = output("git", &["rev-parse", "HEAD"]).unwrap_or_default();
    let changed =
        output("git", &["status", "--porcelain", "--", CODE[0], CODE[1], CODE[2], CODE[3]]);
    let dirty = changed.is_none_or(|changed| !changed.is_empty());
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let set = |name: &str, value: &str| println!("cargo::rustc-env=TREEWIDE_BENCH_{name}={value}");
    set("COMMIT", &commit);
    set("DIRTY", if dirty { "true" } else { "false" });
    set("RUSTC", &output(&rustc, &["--version"]).unwrap_or_default());
    for (name, from) in [("TARGET", "TARGET"), ("PROFILE", "PROFILE"), ("OPT", "OPT_LEVEL")] {
        set(name, &std::env::var(from).unwrap_or_default());
    }
    // An optimisation that other builds do not have must not count for us.
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default().replace('\x1f', " ");
    let flags = if flags.is_empty() { flags } else { format!(", {flags}") };
    set("FLAGS", &flags);
    let lock = std::fs::read_to_string(CODE[2]).unwrap_or_default();
    for name in ["blake3", "rscrypto"] {
        // The highest, if there are several: they are in order, and only one can be the direct one.
        let start = format!("name = \"{name}\"\nversion = \"");
        let version = lock.rsplit_once(&start).and_then(|(_, rest)| rest.split('"').next());
        set(&name.to_uppercase(), version.unwrap_or_default());
    }
    let mut features: Vec<String> = std::env::vars()
        .filter_map(|(name, _)| name.strip_prefix("CARGO_FEATURE_").map(str::to_lowercase))
        .filter(|name| name != "default")
        .collect();
    features.sort();
    set("FEATURES", &features.join(","));
}
