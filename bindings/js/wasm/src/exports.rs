//! The names that `bindings/js/src/engine.ts` calls.

#![allow(
    unsafe_code,
    reason = "the attribute that exports a name is unsafe; `memory` has the macro"
)]

#[cfg(target_arch = "wasm32")]
use crate::hashing;

crate::memory::exports! { hashing:
    fn address(part: u32) -> u32;
    fn hash(mode: u32, len: u32);
    fn context(len: u32);
    fn many(mode: u32, count: u32);
    fn start(place: u32, mode: u32);
    fn start_at(place: u32, mode: u32, offset: f64);
    fn update(place: u32, len: u32);
    fn finish(place: u32, len: u32, low: u32, high: u32);
    fn chaining_value(place: u32);
    fn parent(mode: u32);
    fn root(mode: u32, len: u32, low: u32, high: u32);
    fn save(place: u32) -> u32;
    fn load(place: u32, len: u32) -> u32;
    fn count(place: u32) -> f64;
}
