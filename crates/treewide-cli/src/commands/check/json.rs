//! The lines of JSON that `treewide check --json` writes about listed files and about objects.

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
    store: Option<&str>,
) -> String {
    // A length alone has no digest.
    let listed = listed.filter(|it| about.is_none() || !it.is_empty());
    let is_listed = listed.is_some();
    let expected = listed.map_or_else(String::new, digest::hex);
    let put_expected = |object: &mut Object| {
        match is_listed {
            true => object.string("expected", &expected),
            false => object.null("expected"),
        };
    };
    let mut object = Object::about(path);
    match verdict {
        Verdict::Ok { bytes } => object
            .string("status", "ok")
            .string("digest", &expected)
            .string("expected", &expected)
            .number("bytes", *bytes)
            .null("error"),
        Verdict::Failed { bytes, found } => {
            object.string("status", "failed");
            match found[..] {
                [] => object.null("digest"),
                _ => object.string("digest", &digest::hex(found)),
            };
            put_expected(&mut object);
            object.number("bytes", *bytes);
            match about.and_then(|it| it.cause(*bytes)) {
                Some(cause) => object.string("error", &cause),
                None => object.null("error"),
            }
        }
        Verdict::Unreadable(cause) => {
            object.string("status", "unreadable").null("digest");
            put_expected(&mut object);
            object.null("bytes").string("error", &cause.to_string())
        }
        Verdict::Unverified(cause) => {
            object.string("status", "unverified").null("digest");
            put_expected(&mut object);
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
    if let Some(store) = store {
        object.string("store", store);
    }
    object.finish()
}

/// The line about something in the place of an object that was not read, or of a store.
pub(super) fn of_object(path: &Path, status: &str, cause: &str, store: Option<&str>) -> String {
    let mut object = Object::about(path);
    object.string("status", status).null("digest").null("expected").null("bytes");
    object.string("error", cause).null("algorithm");
    match store {
        Some(store) => {
            object.string("by", "store").null("expected_bytes").string("store", store).finish()
        }
        None => object.null("by").null("expected_bytes").finish(),
    }
}
