//! The line of JSON that `treewide check --json` writes about one listed file.

use std::path::Path;
use treewide_files::check::Verdict;
use treewide_files::digest;
use treewide_files::list::json::Object;

/// The line about a file.
pub(super) fn json(path: &Path, verdict: &Verdict, expected: Option<&[u8]>) -> String {
    let is_listed = expected.is_some();
    let expected = expected.map_or_else(String::new, digest::hex);
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
    object.finish()
}
