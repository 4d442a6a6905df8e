//! The grammars of lists: one table.
//!
//! A list is recognised once, by its name or its first line, and then read by one grammar to its last byte. A line that the grammar
//! does not derive is an error: a list is never read in part.

use super::columns::{Hashdeep, Record};
use super::deb822::Deb822;
use super::json::Json;
use super::lines::{Bag, Bare, Gpg, Plain, Sfv, Tagged};
use super::reader::{Reader, quoted};
use super::title::Title;
use std::fmt::Debug;

/// A grammar of lists.
pub(crate) struct Grammar {
    /// The form of an entry, as messages have it.
    pub(crate) form: &'static str,
    /// Whether a list with this name and this first line has it.
    pub(crate) is: fn(&Title, &[u8]) -> bool,
    /// The mark of comments, a blank or nothing after it. Empty if there are none.
    pub(crate) comment: &'static [u8],
    pub(crate) begin: fn(&Title) -> Box<dyn Reader>,
}

impl Debug for Grammar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.form)
    }
}

const fn grammar(
    form: &'static str,
    comment: &'static [u8],
    is: fn(&Title, &[u8]) -> bool,
    begin: fn(&Title) -> Box<dyn Reader>,
) -> Grammar {
    Grammar { form, comment, is, begin }
}

/// All grammars. The first that fits is taken.
pub(crate) static GRAMMARS: &[Grammar] = &[
    grammar(
        "FILE,sha256=BASE64,LENGTH",
        b"",
        |title, _| title.is("RECORD"),
        |title| Box::new(Record::of(title)),
    ),
    grammar("FILE CRC32", b";", |title, _| title.has_suffix(".sfv"), |_| Box::new(Sfv)),
    grammar("DIGEST  data/FILE", b"", |title, _| title.bag.is_some(), |_| Box::new(Bag)),
    grammar("Key: value", b"", Deb822::is, |title| Box::new(Deb822::of(title))),
    grammar(
        "LENGTH,DIGEST,FILE",
        b"##",
        |_, line| line.starts_with(b"%%%% HASHDEEP-"),
        |_| Box::<Hashdeep>::default(),
    ),
    grammar(
        "JSON",
        b"",
        |_, line| matches!(line.trim_ascii_start(), [b'{' | b'[', ..]),
        |title| Box::new(Json::of(title)),
    ),
    grammar(
        "ALGORITHM (FILE) = DIGEST",
        b"#",
        |_, line| Tagged::is(line),
        |_| Box::<Tagged>::default(),
    ),
    grammar(
        "DIGEST",
        b"#",
        |title, line| title.subject.is_some() && title.is_digest(line.trim_ascii()),
        |title| Box::new(Bare::of(title)),
    ),
    grammar(
        "DIGEST  FILE",
        b"#",
        |title, line| Plain::of(title, line).is_some_and(|it| !it.is_reversed),
        |title| Box::new(Plain { title: title.clone(), is_reversed: false }),
    ),
    grammar(
        "DIGEST FILE",
        b"#",
        |title, line| Plain::of(title, line).is_some_and(|it| it.is_reversed),
        |title| Box::new(Plain { title: title.clone(), is_reversed: true }),
    ),
    grammar("FILE: DIGEST in groups", b"", |_, line| Gpg::is(line), |_| Box::<Gpg>::default()),
];

impl Grammar {
    /// The grammar of a list.
    pub(crate) fn of(title: &Title, line: &[u8]) -> Option<&'static Self> {
        GRAMMARS.iter().find(|it| (it.is)(title, line))
    }

    /// Whether a line is a comment.
    pub(crate) fn is_comment(&self, line: &[u8]) -> bool {
        let mark = line.iter().take_while(|it| self.comment.contains(it)).count();
        // Where lines end in a null character, one has several lines of another list.
        !line.contains(&b'\n')
            && mark > 0
            && mark >= self.comment.len()
            && line.get(mark).is_none_or(u8::is_ascii_whitespace)
    }

    /// Why it does not derive a line.
    pub(crate) fn refuse(&self, title: &Title, line: &[u8]) -> String {
        let other = Self::of(title, line).filter(|it| it.form != self.form);
        match other {
            Some(other) => format!(
                "expected `{}`, found `{}`; a list has one form, so check each part by itself",
                self.form, other.form
            ),
            None => format!("expected `{}`, found: {}", self.form, quoted(line)),
        }
    }
}

/// What to do with a file that is not a list, by its name or its first line.
pub(crate) fn advice(title: &Title, line: &[u8]) -> Option<String> {
    let uses = |command: &str| format!("not read here: `{command}` verifies what it lists");
    if let Some((_, command)) = LOCKS.iter().find(|(name, _)| title.is(name)) {
        return Some(uses(command));
    }
    let has = |text: &[u8]| line.windows(text.len()).any(|it| it == text);
    Some(match line {
        _ if has(b"--hash=sha256:") || line.ends_with(b" \\") && has(b"==") => {
            uses("pip install --require-hashes")
        }
        [b'<', ..] => "XML is not read".into(),
        _ if COMPRESSED.iter().any(|it| line.starts_with(it)) => {
            "compressed; decompress it, and pipe its text here".into()
        }
        _ if line.starts_with(b"#mtree") => {
            uses("mtree -f")
        }
        _ if line.starts_with(b"Algorithm ") || has(b"Algorithm\",\"Hash") || line.starts_with(b"#TYPE ") => {
            "a table of PowerShell is not read; use Get-FileHash | ConvertTo-Json, or Import-Csv | ConvertTo-Json".into()
        }
        _ if line.starts_with(b"untrusted comment: ") => {
            "signed by signify or minisign: check it with that program, and pipe its text here"
                .into()
        }
        _ if line.ends_with(b"=") && has(b" h1:") => uses("go mod verify"),
        _ => return None,
    })
}

/// The first bytes of files of gzip, xz, zstd, lz4 and bzip2.
const COMPRESSED: &[&[u8]] =
    &[b"\x1f\x8b", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"BZh"];

/// Names of files that look like lists, and the commands that use their digests.
const LOCKS: &[(&str, &str)] = &[
    ("package-lock.json", "npm ci"),
    ("npm-shrinkwrap.json", "npm ci"),
    ("yarn.lock", "yarn install"),
    ("pnpm-lock.yaml", "pnpm install"),
    ("Cargo.lock", "cargo fetch"),
    ("go.sum", "go mod verify"),
    ("poetry.lock", "poetry install"),
    ("uv.lock", "uv sync"),
    ("pylock.toml", "pip install"),
    ("Pipfile.lock", "pipenv sync"),
    ("composer.lock", "composer install"),
    (".cargo-checksum.json", "cargo build"),
];
