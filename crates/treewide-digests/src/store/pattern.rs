//! Paths of objects, and the digests in them.
//!
//! A pattern is a path. In a part of it, `+64` means the next 64 digits of the digest, and `=2` its first
//! two digits once more. `data/=2/+64` is `data/de/de64…`, and `+2/+30` is `ab/cdef…`.

/// The digest in a path, in lower case. `None` if the path is not as the pattern says.
pub(super) fn digest(pattern: &str, path: &str) -> Option<String> {
    let (mut digits, mut repeated) = (String::new(), String::new());
    let mut parts = path.split('/');
    for expected in pattern.split('/') {
        let part = parts.next()?;
        let Some(at) = expected.find(['+', '=']) else {
            if part == expected {
                continue;
            }
            return None;
        };
        let number = expected[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
        let (before, after) = (&expected[..at], &expected[at + 1 + number..]);
        let len: usize = expected[at + 1..at + 1 + number].parse().ok()?;
        let found = part.strip_prefix(before)?.strip_suffix(after)?;
        if found.len() != len || !found.bytes().all(|it| it.is_ascii_hexdigit()) {
            return None;
        }
        let place = if expected[at..].starts_with('+') { &mut digits } else { &mut repeated };
        place.push_str(&found.to_ascii_lowercase());
    }
    (parts.next().is_none() && digits.starts_with(&repeated)).then_some(digits)
}

/// Whether a path is that of a folder in which paths of a pattern are.
pub(super) fn is_folder(pattern: &str, path: &str) -> bool {
    let parts = path.split('/').count();
    let end = pattern.match_indices('/').nth(parts - 1).map(|(at, _)| at);
    // The digits of a folder may come once more, as in `=2/+64`.
    end.is_some_and(|end| digest(&pattern[..end].replace('=', "+"), path).is_some())
}

/// Whether a path is as a pattern says in which `*` stands for any characters.
pub(super) fn matches(pattern: &str, path: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == path,
        Some((before, after)) => path.strip_prefix(before).is_some_and(|rest| {
            rest.char_indices()
                .map(|(at, _)| at)
                .chain([rest.len()])
                .any(|at| matches(after, &rest[at..]))
        }),
    }
}

/// The directories in which the paths of all patterns are, in order: the first part of each, or all.
pub(super) fn tops<'a>(patterns: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut tops: Vec<_> = patterns
        .map(|it| it.split_once('/').map_or("", |(top, _)| top))
        .map(|top| if top.contains(['+', '=', '*']) { "" } else { top })
        .collect();
    tops.sort_unstable();
    tops.dedup();
    if tops.is_empty() || tops.contains(&"") { vec![""] } else { tops }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_is_found_in_paths() {
        for (pattern, path, expected) in [
            ("blobs/+4", "blobs/ABcd", Some("abcd")),
            ("blobs/+4", "blobs/abcde", None),
            ("blobs/+4", "blobs/abc", None),
            ("blobs/+4", "blobs/abcg", None),
            ("blobs/+4", "blobs/abcd/e", None),
            ("blobs/+4", "blobs", None),
            ("+2/+2.dir", "ab/cd.dir", Some("abcd")),
            ("+2/+2.dir", "ab/cd", None),
            ("a-v2/=2/=2/+6", "a-v2/ab/cd/abcdef", Some("abcdef")),
            ("a-v2/=2/=2/+6", "a-v2/ab/ce/abcdef", None),
            ("sha256-+4", "sha256-abcd", Some("abcd")),
            ("+4/data", "abcd/data", Some("abcd")),
        ] {
            assert_eq!(digest(pattern, path).as_deref(), expected, "{pattern} {path}");
        }
        for (pattern, path, expected) in [
            ("data/=2/+64", "data", true),
            ("data/=2/+64", "data/ab", true),
            ("data/=2/+64", "data/abc", false),
            ("data/=2/+64", "data/ab/cd", false),
            ("blobs/+64", "index", false),
            ("+64", "ab", false),
        ] {
            assert_eq!(is_folder(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn matches_and_tops_are_about_paths() {
        assert!(matches("blobs/*-partial-*", "blobs/sha256-a-partial-0"));
        assert!(!matches("blobs/*-partial", "blobs/sha256-a-partial-0"));
        assert!(matches("*", ""));
        assert_eq!(tops(["data/+2", "index/+2", "data/x"].into_iter()), ["data", "index"]);
        assert_eq!(tops(["+64", "a/b"].into_iter()), [""]);
    }
}
