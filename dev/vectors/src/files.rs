//! The files: JSON with one case a line, so that a change shows as the lines it touches.
//!
//! Every function returns the number of cases and the text.

use crate::cases::{self, CHUNK, CONTEXT, KEY, OUTPUT};
use crate::oracle::{MODES, Mode, input};

/// Lower-case hexadecimal in JSON's quotes.
fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"{digits}\"")
}

/// A JSON list with one element a line.
fn list(name: &str, lines: &[String]) -> String {
    format!("\"{name}\": [\n{}\n]", lines.join(",\n"))
}

/// A file: what all files say, then its lists. None of the strings needs JSON's escapes.
fn file(lists: &[String]) -> String {
    let key = std::str::from_utf8(KEY).expect("the key is ASCII");
    format!(
        "{{\n\"oracle\": \"the blake3 crate, 1.8\",\n\"key\": \"{key}\",\n\"context\": \"{CONTEXT}\",\n{}\n}}\n",
        lists.join(",\n")
    )
}

/// `hash.json`: the output of every input length in three modes.
pub(crate) fn hash() -> (usize, String) {
    let lines: Vec<String> = cases::lengths()
        .into_iter()
        .map(|len| {
            let input = input(len);
            let outputs: String = MODES
                .iter()
                .map(|mode| {
                    format!(",\"{}\":{}", mode.name(), hex(&mode.output(&input, 0, OUTPUT)))
                })
                .collect();
            format!("{{\"len\":{len}{outputs}}}")
        })
        .collect();
    (MODES.len() * lines.len(), file(&[list("cases", &lines)]))
}

/// `lengths.json`: for each range of lengths the hash of the digests of all of them, so that a program can try every length
/// and keep a few lines.
pub(crate) fn lengths() -> (usize, String) {
    let ranges = cases::ranges();
    let input = input(ranges.iter().map(|range| range.end).max().expect("a range"));
    let lines: Vec<String> = ranges
        .iter()
        .map(|range| {
            let digests: String = MODES
                .iter()
                .map(|mode| {
                    let mut digests = blake3::Hasher::new();
                    for len in range.clone() {
                        digests.update(&mode.digest(&input[..len as usize]));
                    }
                    format!(",\"{}\":{}", mode.name(), hex(digests.finalize().as_bytes()))
                })
                .collect();
            format!("{{\"from\":{},\"to\":{}{digests}}}", range.start, range.end)
        })
        .collect();
    (MODES.len() * lines.len(), file(&[list("ranges", &lines)]))
}

/// `xof.json`: reads at many places of the extended output.
pub(crate) fn xof() -> (usize, String) {
    let mut lines = Vec::new();
    for len in cases::XOF_LENGTHS {
        let input = input(len);
        for mode in MODES {
            for (seek, out_len) in cases::reads() {
                let name = mode.name();
                let output = hex(&mode.output(&input, seek, out_len));
                lines.push(format!(
                    "{{\"len\":{len},\"mode\":\"{name}\",\"seek\":\"{seek}\",\"output\":{output}}}"
                ));
            }
        }
    }
    (lines.len(), file(&[list("cases", &lines)]))
}

/// `hazmat.json`: chaining values of subtrees, merges of two, and context keys.
pub(crate) fn hazmat() -> (usize, String) {
    let mut subtrees = Vec::new();
    let mut merges = Vec::new();
    for mode in MODES {
        let name = mode.name();
        for (offset, lengths) in cases::subtrees() {
            for len in lengths {
                let cv = hex(&mode.chaining_value(&input(len), offset));
                subtrees.push(format!(
                    "{{\"mode\":\"{name}\",\"offset\":\"{offset}\",\"len\":{len},\"cv\":{cv}}}"
                ));
            }
        }
        for len in [CHUNK + 1, 2 * CHUNK, 3 * CHUNK, 31 * CHUNK] {
            let input = input(len);
            let (left, right) = input.split_at((len as usize).next_power_of_two() / 2);
            let left_cv = mode.chaining_value(left, 0);
            let right_cv = mode.chaining_value(right, left.len() as u64);
            let (parent, root) = mode.merge(&left_cv, &right_cv, OUTPUT);
            assert_eq!(root, mode.output(&input, 0, OUTPUT), "the merge must be the input's root");
            merges.push(format!(
                "{{\"mode\":\"{name}\",\"left\":{},\"right\":{},\"parent\":{},\"root\":{}}}",
                hex(&left_cv),
                hex(&right_cv),
                hex(&parent),
                hex(&root)
            ));
        }
    }
    let contexts: Vec<String> = cases::contexts()
        .into_iter()
        .map(|context| {
            let key = hex(&blake3::hazmat::hash_derive_key_context(&context));
            format!("{{\"context\":\"{context}\",\"key\":{key}}}")
        })
        .collect();
    let cases = subtrees.len() + merges.len() + contexts.len();
    let lists =
        [list("subtrees", &subtrees), list("merges", &merges), list("context_keys", &contexts)];
    (cases, file(&lists))
}

/// `outboard.json`: outboards, and the digests that they stand for.
pub(crate) fn outboard() -> (usize, String) {
    let mut lines = Vec::new();
    for mode in MODES {
        for (log2, lengths) in cases::OUTBOARDS {
            for &len in lengths {
                let input = input(len);
                let mut found = Vec::new();
                pairs(mode, &input, 0, CHUNK << log2, &mut found);
                lines.push(format!(
                    "{{\"mode\":\"{}\",\"log2\":{log2},\"len\":{len},\"digest\":{},\"pairs\":{}}}",
                    mode.name(),
                    hex(&mode.output(&input, 0, 32)),
                    hex(found.as_flattened())
                ));
            }
        }
    }
    (lines.len(), file(&[list("cases", &lines)]))
}

/// The pairs of a node over `input`, which begins at byte `at`, and of all nodes above groups below it.
fn pairs(mode: Mode, input: &[u8], at: u64, group: u64, found: &mut Vec<[u8; 64]>) {
    let len = input.len() as u64;
    if len <= group {
        return;
    }
    let left_len = group * len.div_ceil(group).div_ceil(2).next_power_of_two();
    let (left, right) = input.split_at(left_len as usize);
    let mut pair = [0; 64];
    pair[..32].copy_from_slice(&mode.chaining_value(left, at));
    pair[32..].copy_from_slice(&mode.chaining_value(right, at + left_len));
    found.push(pair);
    pairs(mode, left, at, group, found);
    pairs(mode, right, at + left_len, group, found);
}
