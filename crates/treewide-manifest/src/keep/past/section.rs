//! The sections of a past: how they are written, and which of them prove themselves.

use crate::format::check::{END, end_of, push_end};
use crate::format::regular::{self, PAST};
use crate::format::rules::Rules;
use serde::{Deserialize, Deserializer, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::Path;
use treewide::Hasher;
use treewide_files::list::{MAX_LINE, read_line};

/// The version that is written, and the only one that is read.
pub(super) const VERSION: &str = "past 1";

/// The first line of a section.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(super) treewide: String,
    pub(crate) run: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<String>,
    /// Why it is in the place of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gap: Option<String>,
    /// Facts of the old manifest; `null` if it had no index that could be used. A gap has no such key.
    #[serde(default, deserialize_with = "some", skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<Option<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rules: Option<Rules>,
}

/// A key that may be `null`, and is not there otherwise.
fn some<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(from).map(Some)
}

/// The last line, without its `check`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Trailer {
    pub(super) end: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) to: Option<String>,
}

/// A section that proves itself.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) header: Header,
    pub(crate) to: Option<String>,
    pub(super) check: String,
}

/// A section, or what is in its place.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) start: u64,
    pub(super) stop: u64,
    /// `None` if it does not prove itself.
    pub(super) section: Option<Section>,
    /// Where it ends, if its last line is not there.
    tail: Option<Tail>,
}

/// What a section has that was never finished.
#[derive(Clone, Debug)]
enum Tail {
    /// A part of its first line.
    Begin,
    /// A first line with these facts.
    From(Option<String>),
}

impl Piece {
    /// Whether it is a section that was never finished, of the pair with these facts.
    pub(super) fn is_unfinished(&self, facts: Option<&String>) -> bool {
        match &self.tail {
            Some(Tail::Begin) => true,
            Some(Tail::From(from)) => from.as_ref() == facts,
            None => false,
        }
    }
}

impl Section {
    /// Whether a section that names `after` may come next.
    pub(super) fn is_before(&self, after: Option<&String>) -> bool {
        let is_gap = self.header.gap.is_some();
        after == Some(&self.check) || is_gap && after == self.header.after.as_ref()
    }

    /// Whether it may come after that one.
    pub(super) fn follows(&self, before: Option<&Self>) -> bool {
        let after = self.header.after.as_ref();
        self.header.gap.is_some() || before.map_or(after.is_none(), |it| it.is_before(after))
    }

    /// Whether the facts changed, or it is a gap.
    pub(super) fn is_change(&self) -> bool {
        self.header.gap.is_some() || self.from() != self.to.as_ref()
    }

    pub(crate) fn from(&self) -> Option<&String> {
        self.header.from.as_ref().and_then(Option::as_ref)
    }
}

/// Reads lines at any place, which are mostly next to each other.
#[derive(Debug)]
pub(super) struct Lines {
    from: BufReader<File>,
    at: u64,
}

impl Lines {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { from: BufReader::with_capacity(64 << 10, regular::open(path)?), at: 0 })
    }

    /// Whether there is one.
    pub(super) fn read(&mut self, place: u64, line: &mut Vec<u8>) -> io::Result<bool> {
        self.from.seek_relative(place as i64 - self.at as i64)?;
        read_line(&mut self.from, line)?;
        self.at = place + line.len() as u64;
        Ok(!line.is_empty())
    }
}

/// The sections of a past, and what is between them. `each` gets the lines of records, and where they are, before it is known whether
/// their section proves itself.
pub(super) fn pieces(file: &File, each: &mut dyn FnMut(u64, &[u8])) -> io::Result<Vec<Piece>> {
    struct Open {
        start: u64,
        header: Option<Header>,
        hasher: Hasher,
        lines: u64,
        is_cut: bool,
    }
    { file }.rewind()?;
    let mut lines = BufReader::with_capacity(64 << 10, file);
    let (mut pieces, mut open, mut line) = (Vec::new(), None::<Open>, Vec::new());
    let (mut at, mut is_begin) = (0, true);
    let unproven = |open: Open, stop| {
        let from = open.header.and_then(|it| it.from).map(Tail::From);
        let tail = from.or(open.is_cut.then_some(Tail::Begin));
        Piece { start: open.start, stop, section: None, tail }
    };
    loop {
        line.clear();
        // A longer line is not ours, and comes in parts.
        if { &mut lines }.take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
            pieces.extend(open.map(|it| unproven(it, at)));
            return Ok(pieces);
        }
        let start = at;
        at += line.len() as u64;
        let begins = std::mem::replace(&mut is_begin, line.last() == Some(&b'\n'));
        let is_line = begins && is_begin;
        if is_line && line.starts_with(PAST) {
            pieces.extend(open.take().map(|it| unproven(it, start)));
            let header: Option<Header> = serde_json::from_slice(&line).ok();
            let hasher = Hasher::new().update(&line).clone();
            open = Some(Open { start, header, hasher, lines: 0, is_cut: false });
            continue;
        }
        let is_cut = begins && !is_begin && (line.starts_with(PAST) || PAST.starts_with(&line));
        let new = || Open { start, header: None, hasher: Hasher::new(), lines: 0, is_cut };
        let piece = open.get_or_insert_with(new);
        if !is_line || !is_begin || !line.starts_with(END) {
            piece.hasher.update(&line);
            piece.lines += 1;
            piece.is_cut &= piece.start == start;
            if line.starts_with(b"{\"path\":") {
                each(start, &line);
            }
            continue;
        }
        let section = end_of(&line).and_then(|(before, check)| {
            let is_right = piece.hasher.update(before).finalize().to_hex().as_str() == check;
            let end: Trailer = serde_json::from_slice(&[before, b"}"].concat()).ok()?;
            let header = piece.header.take().filter(|_| is_right && end.end == piece.lines)?;
            Some(Section { header, to: end.to, check: check.into() })
        });
        // A version that is not right may also be damage.
        if let Some(other) = section.as_ref().filter(|it| it.header.treewide != VERSION) {
            let cause = format!(
                "has a {:?}, which this program does not know; use a newer one",
                other.header.treewide
            );
            return Err(io::Error::other(cause));
        }
        pieces.push(Piece { start: piece.start, stop: at, section, tail: None });
        open = None;
    }
}

/// The lines of a section that says that others are missing, and its check.
pub(super) fn gap(word: &str, run: &str, after: Option<&str>) -> (Vec<u8>, String) {
    let header = Header {
        treewide: VERSION.into(),
        run: run.into(),
        since: None,
        after: after.map(str::to_owned),
        gap: Some(word.into()),
        from: None,
        rules: None,
    };
    let mut text = serde_json::to_vec(&header).unwrap_or_default();
    text.push(b'\n');
    let mut hasher = Hasher::new();
    hasher.update(&text);
    let check = push_end(&mut text, &mut hasher, &Trailer { end: 0, to: None });
    (text, check)
}
