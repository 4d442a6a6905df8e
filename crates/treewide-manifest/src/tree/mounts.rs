//! Where something is mounted below a directory: also what has no device of its own, such as another directory of the same file system.

use crate::format::name;
use std::path::Path;

/// The names of all such places, as those of directories in a manifest. None where the system does not say.
pub(crate) fn below(root: &Path) -> Vec<Vec<u8>> {
    let mounts = || Some((root.canonicalize().ok()?, std::fs::read("/proc/self/mountinfo").ok()?));
    let Some((root, lines)) = mounts().filter(|_| cfg!(target_os = "linux")) else {
        return Vec::new();
    };
    let mut names: Vec<_> = places(&lines)
        .filter(|place| *place != root.as_os_str().as_encoded_bytes())
        .map(|place| name::path(&place))
        .filter(|place| place.starts_with(&root))
        .map(|place: std::path::PathBuf| [&*name::relative(&place, &root), b"/"].concat())
        .collect();
    names.sort();
    names.dedup();
    names
}

/// The fifth word of each line, in which `\040` stands for a blank.
fn places(lines: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let place = |line: &[u8]| {
        let word = line.split(|byte| *byte == b' ').nth(4)?;
        let mut parts = word.split(|byte| *byte == b'\\');
        let mut place = parts.next()?.to_vec();
        for part in parts {
            let (digits, rest) = part.split_at_checked(3)?;
            place.push(u8::from_str_radix(str::from_utf8(digits).ok()?, 8).ok()?);
            place.extend_from_slice(rest);
        }
        Some(place)
    };
    lines.split(|byte| *byte == b'\n').filter_map(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_with_their_escapes() {
        let lines = b"36 35 98:0 / /a/b rw - ext4 x rw\n37 35 0:5 /d /with\\040blank\\134 rw\n38\n39 1 0:1 / /\\9 rw\n";
        let found: Vec<_> = places(lines).collect();
        assert_eq!(found, [b"/a/b".to_vec(), b"/with blank\\".to_vec()]);
    }
}
