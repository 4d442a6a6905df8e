//! A build script: the name by which programs find the shared library.

fn main() {
    println!("cargo:rerun-if-changed=../src/soname.rs");
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
