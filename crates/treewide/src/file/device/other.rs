use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

pub(in crate::file) fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

pub(in crate::file) fn is_cached(_: &File, _: u64) -> bool {
    true
}

pub(in crate::file) fn prefers_order(_: &File) -> bool {
    false
}

pub(in crate::file) fn will_read_in_order(_: &File) {}

pub(in crate::file) fn drop_from_cache(_: &File, _: u64, _: u64) {}

pub(in crate::file) fn widen(_: &File, _: &Metadata) {}
