//! Comments that hold an entry: damage of a line end makes the next line a part of the comment. An entry that was made a comment on purpose
//! has a blank in front of it.

use super::line::digests;
use crate::algorithm::Algorithm;

/// Whether a comment that begins with `#` has swallowed the next line, as far as that can be seen.
pub(crate) fn has_entry(comment: &[u8]) -> bool {
    let text = comment.strip_prefix(b"#").unwrap_or(comment);
    digests(text).into_iter().any(|(before, digits, after)| {
        let word = before.rsplit(u8::is_ascii_whitespace).next().unwrap_or_default();
        match after.first() {
            None => has_tag(before),
            Some(it) if it.is_ascii_whitespace() => {
                // Lines of another list end in null characters.
                let is_apart = !before.ends_with(b"\n")
                    && match word.strip_suffix(b":") {
                        Some(tag) => Algorithm::tagged(tag).is_some(),
                        None => word.is_empty() && is_len(digits.len()) || word.contains(&b'/'),
                    };
                !is_apart && !after.trim_ascii().is_empty()
            }
            Some(_) => false,
        }
    })
}

fn is_len(digits: usize) -> bool {
    Algorithm::ALL.iter().any(|it| 2 * it.digest_len() == digits)
}

/// Whether there is `TAG (a) = ` with something right in front of the tag.
fn has_tag(before: &[u8]) -> bool {
    let name = before.trim_ascii_end().strip_suffix(b"=").map(<[u8]>::trim_ascii_end);
    let Some(open) = name.and_then(|it| it.strip_suffix(b")")?.iter().position(|it| *it == b'('))
    else {
        return false;
    };
    let words = before[..open].trim_ascii_end();
    let word = words.rsplit(u8::is_ascii_whitespace).next().unwrap_or_default();
    let is_capital =
        |it: &u8| it.is_ascii_uppercase() || it.is_ascii_digit() || b"-_/".contains(it);
    Algorithm::tagged(word).is_none() && !word.iter().all(is_capital)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_entry_keeps_comments_that_are_meant() {
        let hex = "b6a98d9ce9a2d9149288fa3df42d377c3e42737afdcdaf714e33c0a100b51060";
        for (comment, expected) in [
            ("# made\u{b}@  b", true),
            ("# made by x.@  b", true),
            ("# sums:@ *b", true),
            ("# bee@  b", true),
            ("# made\n@  b", true),
            ("# Fedora.iso: 6 bytesSHA256 (Fedora.iso) = @", true),
            ("# made\u{1a}SHA256 (b) = @", true),
            ("# @  b", false),
            ("# sha256:@  b", false),
            ("#SHA256 (b) = @", false),
            ("# WHIRLPOOL (b) = @", false),
            ("# commit @ of main", false),
            ("# https://example.org/@ has it", false),
            ("# of @", false),
        ] {
            assert_eq!(has_entry(comment.replace('@', hex).as_bytes()), expected, "{comment}");
        }
    }
}
