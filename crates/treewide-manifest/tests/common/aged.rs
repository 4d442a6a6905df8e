//! Waits for the clock of a file system, by the rule of the product.

#![allow(dead_code, unreachable_pub, reason = "each program of tests uses some of it")]

#[path = "../../../treewide/tests/common/waiting.rs"]
pub mod waiting;

use std::path::Path;
use treewide_files::Stamp;
use treewide_manifest::machine::Clock;
use treewide_manifest::trust::Moments;

/// Waits until all that was done in the file system of this directory is old enough for keys. What is done later has later times.
pub fn age(dir: &Path) {
    let now = Stamp::of(&tempfile::tempfile_in(dir).unwrap()).unwrap();
    let clock = || Clock::without_sync().moment(0, &dir.join("a"));
    waiting::wait_for(|| clock().key(&now).map(drop));
}
