//! Numbers and names in summaries.

use crate::algorithm::Algorithm;
use unit_prefix::NumberPrefix;

/// `1 line`, `2 lines`.
pub(crate) fn count(number: u64, singular: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {singular}{plural}")
}

/// `15 B`, `1.46 KiB`.
pub(crate) fn size(bytes: u64) -> String {
    match NumberPrefix::binary(bytes as f64) {
        NumberPrefix::Standalone(_) => format!("{bytes} B"),
        NumberPrefix::Prefixed(prefix, number) => format!("{number:.2} {prefix}B"),
    }
}

/// By which algorithms, unless that is BLAKE3 alone: `, by SHA-256 and MD5 (MD5 finds damage, but not a file that someone forged)`.
pub(crate) fn by(algorithms: &[Algorithm]) -> String {
    if algorithms.iter().all(|it| *it == Algorithm::BLAKE3) {
        return String::new();
    }
    let names = |weak: bool| {
        let of = algorithms.iter().filter(|it| it.is_weak() || !weak);
        let names: Vec<_> = of.map(|it| it.shown()).collect();
        match names.split_last() {
            Some((last, [])) => (*last).to_owned(),
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
            None => String::new(),
        }
    };
    let weak = algorithms.iter().filter(|it| it.is_weak()).count();
    let find = if weak == 1 { "finds" } else { "find" };
    let find = format!("{find} damage, but not a file that someone forged");
    let all = names(false);
    match weak {
        0 => format!(", by {all}"),
        _ if weak == algorithms.len() => format!(", by {all}, which {find}"),
        _ => format!(", by {all} ({} {find})", names(true)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_names_algorithms_and_their_weakness() {
        use Algorithm as A;
        for (algorithms, text) in [
            (&[][..], ""),
            (&[A::BLAKE3], ""),
            (&[A::SHA256], ", by SHA-256"),
            (&[A::BLAKE3, A::SHA256], ", by BLAKE3 and SHA-256"),
            (&[A::MD5], ", by MD5, which finds damage, but not a file that someone forged"),
            (&[A::BLAKE3, A::SHA256, A::SHA512], ", by BLAKE3, SHA-256 and SHA-512"),
            (
                &[A::MD5, A::SHA1],
                ", by MD5 and SHA-1, which find damage, but not a file that someone forged",
            ),
            (
                &[A::SHA256, A::MD5],
                ", by SHA-256 and MD5 (MD5 finds damage, but not a file that someone forged)",
            ),
        ] {
            assert_eq!(by(algorithms), text);
        }
    }
}
