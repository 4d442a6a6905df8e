//! A build script: the name by which programs find the shared library.

fn main() {
    // This file is at another place from each workspace; Cargo runs it again when it changes anyway.
    println!("cargo:rerun-if-changed=Cargo.toml");
    let variable = |name| std::env::var(name).expect("cargo sets it");
    let library = variable("CARGO_PKG_NAME");
    match variable("CARGO_CFG_TARGET_OS").as_str() {
        "macos" => {
            println!("cargo:rustc-cdylib-link-arg=-Wl,-install_name,@rpath/{library}.0.dylib")
        }
        "windows" => {}
        _ => println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,{library}.so.0"),
    }
}
