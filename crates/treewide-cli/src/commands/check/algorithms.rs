//! The words for algorithms in the last line.

use treewide_digests::Algorithm;

/// By which algorithms, unless that is BLAKE3 alone: `, by SHA-256 and MD5 (MD5 proves nothing against intent)`.
pub(super) fn by(algorithms: &[Algorithm]) -> String {
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
    let prove = if weak == 1 { "proves" } else { "prove" };
    match weak {
        0 => format!(", by {}", names(false)),
        _ if weak == algorithms.len() => {
            format!(", by {}, which {prove} nothing against intent", names(false))
        }
        _ => format!(", by {} ({} {prove} nothing against intent)", names(false), names(true)),
    }
}
