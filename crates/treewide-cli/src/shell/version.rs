//! The lines of `--version` below its first one.

use treewide::check_environment;

/// The version, what this program was built with, and the kernel that it uses here.
pub(crate) fn long(version: &str) -> String {
    let features = if cfg!(feature = "gpu") { "gpu" } else { "none (gpu was left out)" };
    let kernel = match check_environment() {
        Ok(()) => treewide::explain(0).kernel().name().to_owned(),
        Err(error) => format!("none ({error})"),
    };
    format!("{version}\nfeatures: {features}\nkernel: {kernel}")
}
