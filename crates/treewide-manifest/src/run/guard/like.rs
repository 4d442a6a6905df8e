//! Proof by a file at a recorded name that its directory is the one that was recorded.

use crate::format::record::{Facts, FileRecord};
use crate::format::trust::Key;

/// How a file at a recorded name is like the recorded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Like {
    /// It is the one: content, inode and both times are as recorded, and it has no other name. No program can set ctime, so that
    /// neither a copy nor the file of another disk has it.
    Itself,
    /// Content and mtime are as recorded, where neither inode nor device was.
    Timed,
    /// It has its content, inode and device, and another ctime, or names elsewhere: `chmod`, a hard link, or another disk in the same slot.
    Touched,
    /// It has its content, and one of the recorded numbers, or none was recorded.
    Restored,
    /// It has its content, and is elsewhere: a copy, or one of many files with that content (`README`).
    Copy,
    /// It has other content under the recorded inode and device, as a file that someone edited.
    Edited,
    /// It has other content on the disk that was recorded, or cannot be looked at.
    Here,
    /// It has other content on another disk.
    Other,
    /// It has other content, and no inode or device was recorded.
    Unnumbered,
}

/// Recorded paths that are there, and that are gone.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Found {
    pub(crate) there: u64,
    pub(crate) gone: u64,
    /// How many of the paths there have the recorded content.
    copies: u64,
    /// Whether one of them is on the disk that was recorded.
    is_here: bool,
    /// Whether one of them has the recorded inode and device.
    has_both: bool,
    has_numbers: bool,
    /// Whether one of them is the one that was recorded, as other directories may have its name and content.
    pub(crate) is_known: bool,
}

impl Found {
    pub(crate) fn add(&mut self, files: u64, like: Like) {
        use Like::{Copy, Edited, Itself, Other, Restored, Timed, Touched, Unnumbered};
        self.there += files;
        let has_content = matches!(like, Itself | Timed | Touched | Restored | Copy);
        self.copies += if has_content { files } else { 0 };
        self.is_here |= !matches!(like, Copy | Other | Unnumbered);
        self.has_both |= matches!(like, Itself | Touched | Edited);
        self.has_numbers |= like != Unnumbered;
        self.is_known |= matches!(like, Itself | Timed);
    }

    /// Whether the tree is another one: most of it is gone, or all that is there is elsewhere, and is not a copy of most.
    pub(crate) fn is_other(self) -> bool {
        let all = self.there + self.gone;
        // One file that has no number may be the one that someone edited.
        let is_enough = all > 1 || all > 0 && self.has_numbers;
        let is_elsewhere = is_enough && !self.is_here && self.copies <= self.gone;
        !self.is_known && (self.gone > self.there || is_elsewhere)
    }

    /// The same below a place where something was mounted and is not, or the reverse: only a whole copy counts as the tree, or one with
    /// a file that has both numbers.
    pub(super) fn is_hidden(self) -> bool {
        !self.has_both && self.there + self.gone > 0 && (self.gone > 0 || self.copies == 0)
    }
}

/// How a file is like the one that was recorded. Its inode and device alone say nothing: another disk in the same slot has the same ones.
pub(crate) fn like(was: &FileRecord, has_content: bool, now: Option<&Key>) -> Like {
    let seen = was.facts.as_ref().and_then(Facts::seen);
    let same = |of: fn(&Key) -> Option<u64>| Some(of(seen?)? == of(now?)?);
    let (same_inode, same_device) = (same(|it| it.inode), same(|it| it.device));
    let is_unnumbered = seen.is_some_and(|it| it.inode.is_none() && it.device.is_none());
    // The number of a device may be another one after each start.
    let may_move = if is_unnumbered { "ctime" } else { "device" };
    let is_timed = || {
        let moved = seen.zip(now).and_then(|(seen, now)| seen.moved_to(now));
        moved.is_some_and(|moved| moved.iter().all(|it| *it == may_move))
    };
    match (has_content, same_inode.or(same_device)) {
        (true, None) if is_unnumbered && is_timed() => Like::Timed,
        (true, None) => Like::Restored,
        (true, _) if same_inode == Some(true) && is_timed() => Like::Itself,
        (true, _) => match (same_inode == Some(true), same_device == Some(true)) {
            (true, true) => Like::Touched,
            (false, false) => Like::Copy,
            _ => Like::Restored,
        },
        // An update has found it like this before, and kept its digest.
        (false, None) if was.facts.is_some() && seen.is_none() => Like::Here,
        (false, None) => Like::Unnumbered,
        (false, Some(true)) if same_device == Some(true) => Like::Edited,
        // Where devices do not last, any may be the one.
        (false, _) if same_device != Some(false) => Like::Here,
        (false, _) => Like::Other,
    }
}

/// The same of a file that was read.
pub(crate) fn like_read(
    was: &FileRecord,
    digest: &[u8; treewide::OUT_LEN],
    bytes: u64,
    now: Option<&Key>,
) -> Like {
    match like(was, treewide_files::digest::equal(&was.digest, digest), now) {
        // Empty files are all alike.
        Like::Itself | Like::Timed | Like::Touched | Like::Restored if bytes == 0 => {
            match like(was, false, now) {
                Like::Edited | Like::Here => Like::Here,
                _ => Like::Copy,
            }
        }
        like => like,
    }
}

/// The same of a file whose length, times and numbers are as recorded, so that it was not read.
pub(crate) fn like_unread(was: &FileRecord) -> Like {
    let facts = was.facts.as_ref();
    match facts.and_then(Facts::seen).is_some_and(|it| it.inode.is_some()) {
        true => Like::Itself,
        false if facts.is_some_and(|it| it.bytes == 0) => Like::Restored,
        false => Like::Timed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tree_is_another_one_by_what_is_there() {
        use Like::{Copy, Edited, Here, Itself, Other, Restored, Timed, Touched, Unnumbered};
        for (there, gone, is_other, is_hidden) in [
            (&[Itself][..], 9, false, false),
            (&[Timed], 9, false, true),
            (&[Touched], 9, true, false),
            (&[Touched], 1, false, false),
            (&[Restored], 9, true, true),
            (&[Restored], 1, false, true),
            (&[Here], 9, true, true),
            (&[Edited], 9, true, false),
            (&[Edited, Edited], 0, false, false),
            (&[Here], 1, false, true),
            (&[Here, Here], 0, false, true),
            // Copies on another disk, as long as more of them are there than gone.
            (&[Copy, Copy, Other], 1, false, true),
            (&[Copy, Other], 0, false, false),
            (&[Copy], 1, true, true),
            (&[Other], 0, true, true),
            (&[Other, Other, Here], 1, false, true),
            // One file without a number may be edited.
            (&[Unnumbered], 0, false, true),
            (&[Unnumbered, Unnumbered], 0, true, true),
            (&[Unnumbered], 1, true, true),
            (&[], 1, true, true),
            (&[], 0, false, false),
        ] {
            let mut found = Found { gone, ..Found::default() };
            there.iter().for_each(|like| found.add(1, *like));
            assert_eq!((found.is_other(), found.is_hidden()), (is_other, is_hidden), "{found:?}");
        }
    }

    #[test]
    fn file_is_the_recorded_one_by_content_inode_and_ctime() {
        use Like::{Copy, Edited, Here, Itself, Other, Restored, Timed, Touched};
        let key =
            |ctime, inode, device| Key { mtime: 1_234_567_890_123_456_789, ctime, inode, device };
        let was = |key| {
            let facts = Facts { untrusted: Some(key), ..Facts::of(1) };
            FileRecord { digest: [0; treewide::OUT_LEN], facts: Some(facts) }
        };
        let full = key(5, Some(1), Some(2));
        for (key_was, has_content, ctime, inode, device, expected) in [
            (full, true, 5, 1, 2, Itself),
            (full, true, 5, 1, 3, Itself),
            (full, true, 6, 1, 2, Touched),
            (full, true, 6, 1, 3, Restored),
            // Two files may have the ctime of one second.
            (full, true, 5, 7, 2, Restored),
            (full, true, 6, 7, 3, Copy),
            (full, false, 6, 1, 2, Edited),
            (full, false, 6, 7, 2, Here),
            (full, false, 6, 1, 3, Other),
            (key(5, Some(1), None), true, 5, 1, 9, Itself),
            (key(5, Some(1), None), true, 6, 1, 9, Restored),
            (key(5, None, None), true, 6, 7, 9, Timed),
        ] {
            let now = key(ctime, Some(inode), Some(device));
            assert_eq!(
                like(&was(key_was), has_content, Some(&now)),
                expected,
                "{key_was:?} {now:?}"
            );
        }
        let later = Key { mtime: 2_345_678_901_234_567_890, ..full };
        assert_eq!(like(&was(full), true, Some(&later)), Touched);
        assert_eq!(like(&was(key(5, None, None)), true, Some(&later)), Restored);
    }
}
