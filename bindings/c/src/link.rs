//! A build script: how the shared library is linked.

fn main() {
    // This file is at another place from each workspace; Cargo runs it again when it changes anyway.
    println!("cargo:rerun-if-changed=Cargo.toml");
    let variable = |name| std::env::var(name).expect("cargo sets it");
    let link = |arg: &str| println!("cargo:rustc-cdylib-link-arg=-Wl,{arg}");
    let library = variable("CARGO_PKG_NAME");
    match variable("CARGO_CFG_TARGET_OS").as_str() {
        "macos" => link(&format!("-install_name,@rpath/{library}.0.dylib")),
        "windows" => {}
        _ => {
            link(&format!("-soname,{library}.so.0"));
            let has =
                |feature: &str| std::env::var_os(format!("CARGO_FEATURE_{feature}")).is_some();
            if library == "libtreewide_gpu" || has("PARALLEL") || has("FILE") {
                // After dlclose its threads and its handler of SIGBUS would run code that is gone.
                link("-z,nodelete");
            }
            if variable("CARGO_CFG_TARGET_ARCH") == "x86_64" {
                // It never writes return addresses. Without a mark, a program that loads it loses its shadow stack. Not
                // `ibt`: Rust's stable compiler puts no ENDBR at targets of indirect calls.
                link("-z,shstk");
            }
        }
    }
}
