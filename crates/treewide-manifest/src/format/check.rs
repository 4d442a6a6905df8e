//! Last lines, of an index and of a section of a past: each ends with the hash of all bytes before that.

use serde::Serialize;
use treewide::Hasher;

/// How a last line begins.
pub(crate) const END: &[u8] = b"{\"end\":";
const CHECK: &[u8] = b",\"check\":\"";

/// The parts of a last line: all before its `check`, and that.
pub(crate) fn end_of(line: &[u8]) -> Option<(&[u8], &str)> {
    let at =
        line.starts_with(END).then(|| line.windows(CHECK.len()).rposition(|it| it == CHECK))??;
    let check = &line[at + CHECK.len()..];
    let check = check.strip_suffix(b"\n").unwrap_or(check).strip_suffix(b"\"}")?;
    Some((&line[..at], str::from_utf8(check).ok()?))
}

/// Adds a last line without a check after others that were hashed, and its check, which is returned.
pub(crate) fn push_end(to: &mut Vec<u8>, hasher: &mut Hasher, line: &impl Serialize) -> String {
    let line = serde_json::to_string(line).unwrap_or_default();
    let line = line.strip_suffix('}').unwrap_or(&line);
    let check = hasher.update(line.as_bytes()).finalize().to_hex().to_string();
    to.extend_from_slice(format!("{line},\"check\":\"{check}\"}}\n").as_bytes());
    check
}
