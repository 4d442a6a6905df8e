//! Another Rust library, with the standard library in it, that a C program links too.

#[unsafe(no_mangle)]
pub extern "C" fn other_rust_length(n: u32) -> usize {
    vec![n; 3].iter().map(|n| format!("{n}").len()).sum()
}
