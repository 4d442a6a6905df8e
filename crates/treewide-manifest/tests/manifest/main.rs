//! Tests of runs over small trees.

mod also;
#[cfg(unix)]
mod attack;
#[cfg(unix)]
mod back;
#[path = "../common/mod.rs"]
mod common;
mod dupes;
mod forget;
#[cfg(unix)]
mod histories;
mod hostile;
mod keys;
#[cfg(target_os = "linux")]
#[path = "../common/loops.rs"]
mod loops;
#[cfg(target_os = "linux")]
mod mounts;
mod outboards;
mod past;
#[cfg(unix)]
mod property;
#[cfg(unix)]
mod races;
mod renamed_rot;
mod resume;
mod verdicts;
#[cfg(all(unix, feature = "xattrs"))]
mod xattrs;
