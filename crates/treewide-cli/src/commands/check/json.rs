//! The line of JSON that `treewide check --json` writes about one listed file.

use std::path::Path;
use treewide_digests::Expected;
use treewide_files::check::Verdict;
use treewide_files::digest;
use treewide_files::list::json::Object;

/// The line about a file.
pub(super) fn json(
    path: &Path,
    verdict: &Verdict,
    listed: Option<&[u8]>,
    about: Option<&Expected>,
) -> String {
    let is_listed = listed.is_some();
    let expected = listed.map_or_else(String::new, digest::hex);
    let mut object = Object::about(path);
    match verdict {
        Verdict::Ok { bytes } => object
            .string("status", "ok")
            .string("digest", &expected)
            .string("expected", &expected)
            .number("bytes", *bytes)
            .null("error"),
        Verdict::Failed { bytes, found } => object
            .string("status", "failed")
            .string("digest", &digest::hex(found))
            .string("expected", &expected)
            .number("bytes", *bytes)
            .null("error"),
        Verdict::Unreadable(cause) => object
            .string("status", "unreadable")
            .null("digest")
            .string("expected", &expected)
            .null("bytes")
            .string("error", &cause.to_string()),
        Verdict::Unverified(cause) => {
            object.string("status", "unverified").null("digest");
            match is_listed {
                true => object.string("expected", &expected),
                false => object.null("expected"),
            };
            object.null("bytes").string("error", cause)
        }
        Verdict::Missing => object
            .string("status", "missing")
            .null("digest")
            .string("expected", &expected)
            .null("bytes")
            .null("error"),
    };
    match about.and_then(Expected::algorithm) {
        Some(algorithm) => object.string("algorithm", algorithm.name()),
        None => object.null("algorithm"),
    };
    match about {
        Some(about) => object.string("by", about.by().name()),
        None => object.null("by"),
    };
    match about.and_then(Expected::size_wanted) {
        Some(bytes) => object.number("expected_bytes", bytes),
        None => object.null("expected_bytes"),
    };
    object.finish()
}
