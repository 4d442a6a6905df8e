//! Rows about paths on standard output, and counts and notes at the end on standard error.

use crate::shell::console::Console;
use crate::shell::sheet::{Row, Sheet, Summary, Text};
use crate::shell::tone::Tone;
use crate::shell::wording::{count, state_word};
use anyhow::Context;
use indicatif::HumanBytes;
use std::ops::Range;
use std::path::{Path, PathBuf};
use treewide::Hash;
use treewide::outboard::Flaw;
use treewide_files::digest::hex;
use treewide_files::list::json::Object;
use treewide_files::name::{Listed, quoted, shown, shown_text};
use treewide_manifest::record::Type;
use treewide_manifest::xattrs::Xattrs;
use treewide_manifest::{
    Class, Evidence, Finding, Index, Located, Manifest, Report, Rules, Verdict,
};

/// Writes findings.
pub(super) struct Findings<'a> {
    pub(super) sheet: Sheet,
    /// The findings that are written.
    shows: Box<dyn Fn(&Finding) -> bool + 'a>,
    /// Paths that are gone or new, as long as nothing else was found.
    held: Option<Vec<Finding>>,
    /// Doubts that runs before this one have reported: they come after what is new.
    known: Vec<Finding>,
    /// The first file that is ROT or SUSPECT.
    rotten: Option<PathBuf>,
    failed: Option<anyhow::Error>,
}

impl<'a> Findings<'a> {
    pub(super) fn new(sheet: Sheet, shows: impl Fn(&Finding) -> bool + 'a) -> Self {
        let (held, known, rotten, failed) = (None, Vec::new(), None, None);
        Self { sheet, shows: Box::new(shows), held, known, rotten, failed }
    }

    /// Writes no row of a path that is gone or new before something else was found.
    pub(super) fn holding(self) -> Self {
        Self { held: Some(Vec::new()), ..self }
    }

    /// Writes the rows that were held, unless all is gone.
    pub(super) fn release(&mut self, is_all_gone: bool) {
        for finding in self.held.take().into_iter().flatten().filter(|_| !is_all_gone) {
            self.add(&finding);
        }
    }

    /// Writes the row of a finding; that it cannot be written shows at the end.
    pub(super) fn add(&mut self, finding: &Finding) {
        let class = finding.verdict.class();
        match &mut self.held {
            Some(held) if matches!(class, Class::Removed | Class::Added) => {
                held.push(finding.clone());
                return;
            }
            Some(_) => self.release(false),
            None => {}
        }
        match finding.verdict.is_doubtful() && finding.since.is_some() {
            true => self.known.push(finding.clone()),
            false => self.show(finding),
        }
    }

    fn show(&mut self, finding: &Finding) {
        let class = finding.verdict.class();
        if finding.verdict.is_doubtful() {
            self.rotten.get_or_insert_with(|| finding.path());
        }
        let is_news = !matches!(class, Class::Same | Class::Touched) && (self.shows)(finding);
        if is_news && self.failed.is_none() {
            let written = write(&mut self.sheet, finding);
            self.failed = written.and_then(|()| self.sheet.flush()).err();
        }
    }

    /// Writes what comes at the end. `operands` are the list, if there is one to accept rot in, and the directory if it was named.
    pub(super) fn close(
        &mut self,
        summary: &Summary<'_>,
        operands: Option<(&Path, Option<&Path>)>,
    ) -> anyhow::Result<()> {
        for finding in std::mem::take(&mut self.known) {
            self.show(&finding);
        }
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        self.sheet.close(summary).context("the report")?;
        if let (Some(path), Some(operands)) = (&self.rotten, operands) {
            self.sheet.console.say(&what_to_do(path, operands));
        }
        Ok(())
    }
}

/// The ways out of rot.
fn what_to_do(path: &Path, operands: (&Path, Option<&Path>)) -> String {
    // What a message cannot hold is any character.
    let escaped = |it: char| match it {
        '*' | '?' | '[' | ']' | '{' | '}' | '\\' => format!("\\{it}"),
        it if it.is_control() || it == char::REPLACEMENT_CHARACTER => "?".into(),
        it => it.into(),
    };
    let name: String = path.to_string_lossy().chars().map(escaped).collect();
    // A name without a slash would match in every directory.
    let glob = if name.contains('/') { name } else { format!("./{name}") };
    let update = update(&format!("--accept-rot {}", quoted(&glob)), operands);
    format!("restore such a file from a copy, or accept its content: {update}")
}

/// A command of a list, and of its directory if that was named.
pub(super) fn update(flags: &str, (list, dir): (&Path, Option<&Path>)) -> String {
    let operands = [Some(list), dir].into_iter().flatten();
    let command = format!("treewide update {flags}").trim_end().to_owned();
    operands.fold(command, |all, it| all + " " + &quoted(&shown(it)))
}

/// Whether it is about a file that was not read because its key is as recorded, for the progress.
pub(super) fn is_passed(finding: &Finding) -> bool {
    finding.kind == Type::File
        && finding.verdict == Verdict::Same
        && finding.evidence == Some(Evidence::Metadata)
}

fn tone(class: Class) -> Tone {
    match class {
        Class::Same | Class::Touched => Tone::Good,
        Class::Rot | Class::Suspect => Tone::Bad,
        Class::Changed | Class::Accepted | Class::ReplacedType | Class::Removed => Tone::Changed,
        Class::Moved | Class::Renamed | Class::Copied | Class::Added => Tone::Moved,
        Class::Changing | Class::Unreadable | Class::NotCheckable => Tone::Unknown,
    }
}

/// Writes a line such as `MOVED    a/x.jpg -> b/x.jpg`, or its object.
fn write(sheet: &mut Sheet, finding: &Finding) -> anyhow::Result<()> {
    let (path, class) = (finding.path(), finding.verdict.class());
    let parts = [Some(finding.detail()), finding.located.as_ref().map(Located::to_string)];
    let parts: Vec<_> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    let moved = || {
        let from = finding.verdict.from().unwrap_or_default().to_owned();
        let from = Finding { name: from, ..finding.clone() };
        let line = format!(" {} -> {}", Listed::new(&from.path()), Listed::new(&path));
        (String::new(), format!("{:<8}", class.word().to_uppercase()), line)
    };
    let more = |object: &mut Object| keys(object, finding);
    let bytes = match &finding.located {
        Some(Located::Bytes(bad)) => Some(bad.len),
        _ => None,
    };
    let mut row = Row {
        bytes,
        evidence: finding.evidence.map(Evidence::word),
        detail: parts.join("; "),
        more: &more,
        ..Row::new(&path, class.word(), finding.kind.word(), tone(class))
    };
    if matches!(finding.verdict, Verdict::Moved { .. }) {
        row.text = Text::Parts(&moved);
    }
    sheet.row(&row)
}

/// Adds the keys that rows about manifests have in addition.
fn keys(object: &mut Object, finding: &Finding) {
    let other = match &finding.verdict {
        Verdict::Removed { still_at } => still_at.as_deref(),
        verdict => verdict.from(),
    };
    object.string_or_null("other", other.map(String::from_utf8_lossy).as_deref());
    if let Some(name) = other.filter(|it| str::from_utf8(it).is_err()) {
        object.string("other_hex", &hex(name));
    }
    if let Some(then) = &finding.then {
        object.string("until", &then.until).raw("as_then", then.as_then);
    }
    if let Some(since) = &finding.since {
        object.string("since", &since.day.to_string());
        object.string_or_null("read", since.read.map(|it| it.to_string()).as_deref());
    }
    match &finding.located {
        None => {}
        Some(Located::Unknown(cause)) => drop(object.null("ranges").string("outboard", cause)),
        Some(Located::Bytes(bad)) => {
            let range = |found: &Flaw| {
                let (state, Range { start, end }) = (state_word(found.kind), &found.range);
                format!("{{\"verdict\":\"{state}\",\"start\":{start},\"end\":{end}}}")
            };
            let ranges: Vec<_> = bad.first.iter().map(range).collect();
            object.list("ranges", &ranges).number("more_ranges", bad.more);
            object.number("bad", bad.bad).number("unknown", bad.unknown);
            object.number("extra", bad.extra);
        }
    }
}

/// The numbers of a run.
pub(super) fn counts(report: &Report) -> Vec<(&'static str, u64)> {
    let mut counts = vec![("entries", report.entries())];
    counts.extend(Class::ALL.map(|it| (it.word(), report.count(it))));
    counts.extend([
        ("by_read", report.known_by(Evidence::Read)),
        ("by_metadata", report.known_by(Evidence::Metadata)),
        ("by_claimed", report.known_by(Evidence::Claimed)),
        ("files_read", report.files_read),
        ("bytes_read", report.bytes_read),
        ("files_unread", report.files_unread),
        ("bytes_unread", report.bytes_unread),
        ("files_linked", report.files_linked),
        ("files_resumed", report.files_resumed),
        ("bytes_resumed", report.bytes_resumed),
        ("files_kept", report.files_kept),
        ("back_same", report.back.0),
        ("back_other", report.back.1),
        ("uncovered", report.uncovered),
        ("skipped", report.skipped),
    ]);
    counts
}

/// Adds what else there is to say of a run; `digest` is that of the manifest.
pub(super) fn facts(
    object: &mut Object,
    report: &Report,
    limits: &Limits<'_>,
    digest: Option<Hash>,
    dir: Option<&Path>,
) {
    object.raw("quick", limits.quick).strings("only", limits.only);
    object
        .strings("not_compared", limits.not_compared)
        .string_or_null("index", report.damage.as_deref());
    object.raw("differs", report.differs()).raw("certain", report.is_certain());
    object.string_or_null("digest", digest.map(|it| it.to_hex()).as_deref());
    object.string_or_null("directory", dir.map(Path::to_string_lossy).as_deref());
}

/// Such as `20001 entries: 20000 same, 1 changed; 20001 files read (131 MB)`.
pub(super) fn summary(report: &Report) -> String {
    let mut text = report.to_string();
    let (read, unread) = (report.files_read, report.files_unread);
    if read + unread + report.files_resumed > 0 {
        text += &format!("; {} read ({})", count(read, "file"), HumanBytes(report.bytes_read));
    }
    if report.files_linked > 0 {
        text += &format!(", {} more under another name", report.files_linked);
    }
    if let Some(resumed) = resumed(report) {
        text += &format!(", {resumed}");
    }
    if unread > 0 {
        text += &format!(
            "; {} not read ({})",
            match unread {
                1 => "1 file looks unchanged and was".into(),
                _ => format!("{unread} files look unchanged and were"),
            },
            HumanBytes(report.bytes_unread)
        );
    }
    if report.files_kept > 0 {
        text += &format!(", {} kept", count(report.files_kept, "old digest"));
    }
    let claimed = report.known_by(Evidence::Claimed);
    if claimed > 0 {
        text += &format!(
            "; {} the same as both manifests claim, and none read",
            count(claimed, "file")
        );
    }
    text
}

/// How many files are back that the manifest had once.
pub(super) fn back(report: &Report) -> Option<String> {
    Some(match report.back {
        (0, 0) => return None,
        (1, 0) => "1 file is back, as it was".into(),
        (0, 1) => "1 file is back, and not as it was".into(),
        (same, other) => {
            format!("{} files are back: {same} as they were, {other} not", same + other)
        }
    })
}

/// Since when every file was read, and how long a round takes.
pub(super) fn round(report: &Report, runs: u64) -> String {
    let runs = match runs {
        0 | 1 => "1 run reads all files".into(),
        runs => format!("about {runs} runs read all files once"),
    };
    match report.oldest {
        Some(day) => format!("the oldest reading is of {day}; with this budget, {runs}"),
        None => format!("no file is as recorded; with this budget, {runs}"),
    }
}

/// How much was not read because a run that was interrupted has read it.
pub(super) fn resumed(report: &Report) -> Option<String> {
    let bytes = HumanBytes(report.bytes_resumed);
    match report.files_resumed {
        0 => None,
        files => Some(format!("{} ({bytes}) read by the interrupted run", count(files, "file"))),
    }
}

/// What of a tree a manifest does not cover. Its index is not signed, so that someone may have put rules into it.
pub(super) fn not_compared(manifest: &Manifest, report: &Report) -> Vec<String> {
    if matches!(manifest.index(), Index::Absent) {
        let mut parts = vec!["links, directories and special files, as there is no index".into()];
        parts.extend(left_behind(report));
        return parts;
    }
    let rules = manifest.rules();
    let mut parts: Vec<String> =
        rules.exclude.iter().map(|glob| format!("{} (excluded)", shown_text(glob))).collect();
    parts.extend(left_behind(report));
    for (is, text) in [
        (!rules.hidden, "names that begin with a dot"),
        (rules.follow, "where links lead (they are followed)"),
        (rules.one_file_system, "other file systems"),
        (rules.xattrs == Xattrs::WithoutTrusted, "extended attributes trusted.*"),
    ] {
        parts.extend(is.then(|| text.to_owned()));
    }
    if treewide_manifest::journal::is_left(manifest.list().path()) {
        let path = treewide_manifest::journal::journal_path(manifest.list().path());
        parts.push(format!("{}, the journal of an interrupted run", shown(&path)));
    }
    parts
}

/// Such as `1 temporary file of another run (.treewide-*.tmp)`.
fn left_behind(report: &Report) -> Option<String> {
    let files = report.leftovers;
    (files > 0)
        .then(|| format!("{} of other runs (.treewide-*.tmp)", count(files, "temporary file")))
}

/// What limited a comparison, for `--json`.
#[derive(Default)]
pub(super) struct Limits<'a> {
    pub(super) quick: bool,
    pub(super) only: &'a [String],
    pub(super) not_compared: &'a [String],
    /// The directory that was compared, where the list is of this run alone.
    pub(super) instead: Option<&'a Path>,
}

/// What two manifests do not both record, so that no one can compare it.
pub(super) fn not_in_both(old: &Manifest, new: &Manifest) -> Vec<String> {
    if [old, new].iter().any(|it| matches!(it.index(), Index::Absent)) {
        return vec!["links, directories and special files, as one has no index".into()];
    }
    if !(old.has_index() && new.has_index()) {
        return Vec::new();
    }
    let (was, is) = (old.rules(), new.rules());
    let scope = |it: &Rules| (it.exclude.clone(), it.hidden, it.follow, it.one_file_system);
    let mut parts = Vec::new();
    for (is, text) in [
        (was.modes != is.modes, "modes, which only one has"),
        (was.xattrs != is.xattrs, "extended attributes that only one covers"),
        (
            scope(&was) != scope(&is),
            "what the rules of one leave out (the other has it as added or removed)",
        ),
    ] {
        parts.extend(is.then(|| text.to_owned()));
    }
    parts
}

/// What is wrong with an index.
pub(super) fn damage(console: &Console, operands: (&Path, Option<&Path>), cause: &str) {
    let (index, update) =
        (treewide_manifest::index_path(operands.0), update("--accept-damage", operands));
    console.about(
        &index,
        format_args!(
            "is not used: {cause}; so links, directories, modes, attributes and names that are not UTF-8 were not checked; \
             `{update}` writes a new one, and keeps the digests of files whose content differs"
        ),
    );
}

/// What is wrong with a past.
pub(super) fn past_damage(console: &Console, operands: (&Path, Option<&Path>), cause: &str) {
    let update = format!("`{}`", update("--accept-damage", operands));
    let cause = cause.replace("--accept-damage", &update);
    console.about(&treewide_manifest::past_path(operands.0), cause);
}
