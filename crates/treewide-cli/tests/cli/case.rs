//! A tree and its manifest, as a user's night job has them.

use crate::support::{Ended, Folder, hex};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

const FILES: [&str; 3] = ["d/f3", "f1", "f2"];

/// The name of a temporary file: 16 random digits, and 16 of their hash.
pub(crate) const LEFT: &str = ".treewide-0123456789abcdefb8f6b168214bf501.tmp";

/// A tree `t` and its manifest `p.b3`.
pub(crate) struct Case {
    pub(crate) folder: Folder,
}

impl Case {
    pub(crate) fn new() -> Self {
        let folder = Folder::new();
        for name in FILES {
            folder.write(format!("t/{name}"), format!("content of {name}"));
        }
        let case = Self { folder };
        case.folder.age();
        case.run("snapshot t -o p.b3").is_code(0);
        case
    }

    pub(crate) fn run(&self, args: &str) -> Said {
        Said(self.folder.treewide(args).run())
    }

    /// Another manifest in the place of this one.
    pub(crate) fn anew(&self, dir: &str) {
        for name in ["p.b3", "p.b3.tw"] {
            fs::remove_file(self.folder.join(name)).unwrap();
        }
        self.run(&format!("snapshot {dir} -o p.b3")).is_code(0);
    }

    /// Both files of the manifest.
    pub(crate) fn pair(&self) -> [Option<Vec<u8>>; 2] {
        ["p.b3", "p.b3.tw"].map(|it| fs::read(self.folder.join(it)).ok())
    }

    /// Runs a command that must not touch the manifest.
    #[track_caller]
    pub(crate) fn keeps(&self, code: i32, args: &str, says: &[&str]) -> Said {
        let before = self.pair();
        let said = self.run(args);
        said.0.fails(code, says);
        assert!(before == self.pair(), "{args} changed the manifest");
        said
    }

    /// Other content of the same length, and mtime as it was; ctime moves.
    pub(crate) fn flip(&self, name: &str) {
        let path = self.folder.join(format!("t/{name}"));
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        let mut content = fs::read(&path).unwrap();
        content[0] ^= 1;
        fs::write(&path, content).unwrap();
        set_time(&path, time);
    }

    /// As if the disk had changed a byte: the index has the times that the file has now.
    pub(crate) fn rot(&self, name: &str) {
        self.rot_in("p.b3.tw", name);
    }

    pub(crate) fn rot_in(&self, index: &str, name: &str) {
        self.flip(name);
        let now = fs::metadata(self.folder.join(format!("t/{name}"))).unwrap();
        let ctime = now.ctime() * 1_000_000_000 + now.ctime_nsec();
        let begin = format!("{{\"path\":\"{name}\",");
        let edit = |line: &str| {
            let Some((before, after)) =
                line.split_once("\"ctime\":").filter(|_| line.starts_with(&begin))
            else {
                return line.to_owned();
            };
            let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{before}\"ctime\":{ctime}{rest}")
        };
        let text = self.folder.read(index);
        let edited: Vec<_> = text.lines().map(edit).collect();
        self.folder.forge_index(index, &edited.join("\n"));
    }

    pub(crate) fn edit_index(&self, edit: impl Fn(&str) -> String) {
        let text = self.folder.read("p.b3.tw");
        let edited = edit(&text);
        assert_ne!(text, edited);
        self.folder.forge_index("p.b3.tw", &edited);
    }

    /// The digest in the list is that of the content at the beginning.
    #[track_caller]
    pub(crate) fn has_old(&self, name: &str) {
        let line = format!("{}  {name}\n", hex(format!("content of {name}")));
        assert!(self.folder.read("p.b3").contains(&line), "the old digest of {name} is gone");
    }
}

pub(crate) struct Said(pub(crate) Ended);

impl Said {
    #[track_caller]
    pub(crate) fn is_code(&self, code: i32) -> &Self {
        self.0.fails(code, &[]);
        self
    }

    #[track_caller]
    pub(crate) fn prints(&self, text: &str) -> &Self {
        assert!(self.0.text().contains(text), "no {text:?} in {:?}", self.0);
        self
    }
}

pub(crate) fn set_time(path: &Path, time: SystemTime) {
    fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}
