//! The lines of JSON that `treewide check --json` writes.

use treewide_digests::check::{Finding, Status};
use treewide_digests::{Algorithm, By};
use treewide_files::digest::hex;
use treewide_files::list::json::Object;

/// The line about a listed file, or about something in a store.
pub(crate) fn json(finding: &Finding) -> String {
    let mut object = Object::about(&finding.path);
    let error = finding.cause.as_deref().filter(|_| finding.status != Status::Ok);
    string(&mut object, "status", Some(finding.status.word()));
    string(&mut object, "digest", finding.digest.as_deref().map(hex).as_deref());
    string(&mut object, "expected", finding.expected.as_deref().map(hex).as_deref());
    number(&mut object, "bytes", finding.bytes);
    string(&mut object, "error", error);
    string(&mut object, "algorithm", finding.algorithm.map(Algorithm::name));
    string(&mut object, "by", finding.by.map(By::name));
    number(&mut object, "expected_bytes", finding.expected_bytes);
    if let Some(store) = finding.store {
        object.string("store", store.name);
    }
    object.finish()
}

fn string(object: &mut Object, key: &str, value: Option<&str>) {
    match value {
        Some(value) => object.string(key, value),
        None => object.null(key),
    };
}

fn number(object: &mut Object, key: &str, value: Option<u64>) {
    match value {
        Some(value) => object.number(key, value),
        None => object.null(key),
    };
}
