//! The program: every public item of the `blake3` crate, written as its users write.

use super::blake3;
use crate::{Log, Seen};
use std::panic::{RefUnwindSafe, UnwindSafe};

mod features;
mod guts;
mod hash_type;
mod hasher;
mod hazmat;
mod one_shot;
mod output_reader;
mod traits;

/// Uses everything, and returns what it saw.
pub fn run(name: &str) -> Vec<Seen> {
    let hasher = std::any::type_name::<blake3::Hasher>();
    assert!(hasher.starts_with(name), "the program uses {hasher}");
    let mut log = Log::default();
    one_shot::run(&mut log);
    hash_type::run(&mut log);
    hasher::run(&mut log);
    output_reader::run(&mut log);
    hazmat::run(&mut log);
    guts::run(&mut log);
    features::run(&mut log, name);
    traits::run(&mut log);
    log.0
}

/// What every public type must be, so that users can store it and send it anywhere.
fn ordinary<T: Send + Sync + Unpin + UnwindSafe + RefUnwindSafe>() -> bool {
    size_of::<T>() > 0
}
