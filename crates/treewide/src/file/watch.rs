//! The function that a program gives to see progress, and to stop.

use std::ops::ControlFlow;

/// Called with the bytes of each tile that was read, from any of the threads.
pub(super) type Watch<'a> = dyn Fn(u64) -> ControlFlow<()> + Send + Sync + 'a;
