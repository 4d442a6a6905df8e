//! Tests of runs over small trees. Tests that a script runs alone are programs of their own.

mod also;
#[cfg(unix)]
mod attack;
#[path = "../common/mod.rs"]
mod common;
mod dupes;
mod forget;
mod hostile;
#[cfg(target_os = "linux")]
#[path = "../common/loops.rs"]
mod loops;
#[cfg(target_os = "linux")]
mod mounts;
mod outboards;
#[cfg(unix)]
mod races;
mod resume;
#[cfg(all(unix, feature = "xattrs"))]
mod xattrs;
