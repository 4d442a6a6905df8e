//! The binary, run as users run it.
//!
//! What a case needs and the machine lacks (b3sum, root, `script`) is a reason to skip it, which
//! is printed: run with `--nocapture` to see.

#![cfg(unix)]

mod algorithms;
mod b3sum;
#[cfg(target_os = "linux")]
mod case;
mod check;
mod contents;
#[cfg(feature = "gpu")]
mod device;
mod docs;
#[cfg(target_os = "linux")]
mod guards;
#[cfg(target_os = "linux")]
mod guards_disks;
#[cfg(target_os = "linux")]
mod guards_places;
#[cfg(target_os = "linux")]
mod guards_replaced;
mod hints;
mod history;
mod hundred_thousand;
#[cfg(target_os = "linux")]
mod inherited;
mod input;
mod json;
#[cfg(target_os = "linux")]
mod lengths;
mod lists;
#[cfg(target_os = "linux")]
#[path = "../../../treewide-manifest/tests/common/loops.rs"]
mod loops;
mod manifest;
#[cfg(target_os = "linux")]
mod manifest_against;
#[cfg(target_os = "linux")]
mod manifest_also;
#[cfg(target_os = "linux")]
mod manifest_fails;
mod manifest_html;
#[cfg(target_os = "linux")]
mod manifest_reads;
#[cfg(target_os = "linux")]
mod manifest_xattrs;
mod named_output;
mod names_in_lists;
mod natural;
mod outboard;
mod output;
#[cfg(target_os = "linux")]
mod output_fails;
mod progress;
#[cfg(target_os = "linux")]
mod readme;
#[cfg(target_os = "linux")]
mod refused;
#[cfg(target_os = "linux")]
mod replaced;
mod stores;
mod support;
mod tensors;
#[cfg(target_os = "linux")]
mod terminals;
mod trees;
mod usage;
mod walk;
#[cfg(target_os = "linux")]
mod ways_out;
