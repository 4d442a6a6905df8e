//! Lines about paths on standard output, and counts and notes at the end on standard error.

use crate::shell::again::Again;
use crate::shell::console::Console;
use crate::shell::output::Output;
use crate::shell::terminal::Form;
use crate::shell::tone::Tone;
use crate::shell::wording::{count, quoted, state_word};
use anyhow::Context;
use indicatif::HumanBytes;
use std::ops::Range;
use std::path::{Path, PathBuf};
use treewide::Hash;
use treewide::outboard::Flaw;
use treewide_files::digest::hex;
use treewide_files::list::json::Object;
use treewide_files::name::{Listed, shown, shown_text};
use treewide_manifest::record::Type;
use treewide_manifest::xattrs::Xattrs;
use treewide_manifest::{
    Budget, Class, Evidence, Finding, Index, Located, Manifest, Report, Rules, Totals, Verdict,
};

/// Writes findings.
pub(super) struct Lines<'a> {
    output: Output<'a>,
    json: bool,
    /// The verdicts that are written.
    shows: Box<dyn Fn(Class) -> bool + 'a>,
    again: Again,
    /// The first file that is ROT or SUSPECT.
    rotten: Option<PathBuf>,
    failed: Option<anyhow::Error>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(output: Output<'a>, json: bool, shows: impl Fn(Class) -> bool + 'a) -> Self {
        let shows = Box::new(shows);
        Self { output, json, shows, again: Again::default(), rotten: None, failed: None }
    }

    /// Writes the line of a finding; that it cannot be written shows at the end.
    pub(super) fn add(&mut self, finding: &Finding) {
        let class = finding.verdict.class();
        if matches!(class, Class::Rot | Class::Suspect) {
            self.rotten.get_or_insert_with(|| finding.path());
        }
        let is_news = !matches!(class, Class::Same | Class::Touched) && (self.shows)(class);
        if !is_news || self.failed.is_some() {
            return;
        }
        let written = if self.json {
            let line = json(finding);
            self.output.record(Form::Json, |to| to.write_all(line.as_bytes()))
        } else {
            let (word, text) = text(finding);
            self.output.verdict("", (tone(class), &word), &text)
        };
        self.failed = written.and_then(|()| self.output.flush()).err();
        if matches!(tone(class), Tone::Bad | Tone::Changed | Tone::Unknown) {
            let line = || text(finding).0 + &text(finding).1;
            self.again.problem(line);
        } else {
            self.again.line();
        }
    }

    /// Writes the lines that come at the end. `operands` are the list, and the directory if it was named.
    pub(super) fn finish(
        mut self,
        console: &Console<'_>,
        operands: (&Path, Option<&Path>),
        counts: Option<(&Report, Option<&Limits<'_>>, Option<Hash>)>,
    ) -> anyhow::Result<()> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        if let Some((report, limits, digest)) = counts.filter(|_| self.json) {
            let line = summary_json(report, limits, digest);
            self.output.record(Form::Json, |to| to.write_all(line.as_bytes()))?;
        }
        self.output.finish().context("the report")?;
        self.again.say(console, "the problems again:");
        if let Some(path) = &self.rotten {
            console.say(&what_to_do(path, operands));
        }
        Ok(())
    }
}

/// The ways out of rot.
fn what_to_do(path: &Path, (list, dir): (&Path, Option<&Path>)) -> String {
    let name = shown(path);
    let escaped = name.chars().flat_map(|it| [r"*?[]{}\\".contains(it).then_some('\\'), Some(it)]);
    let name: String = escaped.flatten().collect();
    // A name without a slash would match in every directory.
    let glob = if name.contains('/') { name } else { format!("./{name}") };
    let operands = [Some(list), dir].into_iter().flatten().map(|it| quoted(&shown(it)));
    format!(
        "restore such a file from a copy, or accept its content: treewide update --accept-rot {} {}",
        quoted(&glob),
        operands.collect::<Vec<_>>().join(" ")
    )
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
        Class::Changed | Class::ReplacedType | Class::Removed => Tone::Changed,
        Class::Moved | Class::Renamed | Class::Copied | Class::Added => Tone::Moved,
        Class::Changing | Class::Unreadable | Class::NotCheckable => Tone::Unknown,
    }
}

/// The two parts of a line, such as `MOVED   ` and ` a/x.jpg -> b/x.jpg`.
fn text(finding: &Finding) -> (String, String) {
    let word = format!("{:<8}", finding.verdict.class().word().to_uppercase());
    let path = finding.path();
    // The root has no name.
    let name = Listed::new(if path.as_os_str().is_empty() { Path::new(".") } else { &path });
    let detail = match &finding.verdict {
        Verdict::Moved { from } => {
            let from = Finding { name: from.clone(), ..finding.clone() };
            return (word, format!(" {} -> {name}", Listed::new(&from.path())));
        }
        _ => detail(finding),
    };
    let slash = match finding.kind {
        Type::Directory => "/",
        _ => "",
    };
    let detail = if detail.is_empty() { detail } else { format!("  ({detail})") };
    (word, format!(" {name}{slash}{detail}"))
}

/// The details of a verdict, with the bytes that differ.
pub(super) fn detail(finding: &Finding) -> String {
    let parts = [Some(finding.verdict.detail()), finding.located.as_ref().map(Located::to_string)];
    let parts: Vec<_> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    parts.join("; ")
}

fn json(finding: &Finding) -> String {
    let mut object = Object::about(&finding.path());
    object.string("verdict", finding.verdict.class().word()).string("type", finding.kind.word());
    let other = match &finding.verdict {
        Verdict::Removed { still_at } => still_at.as_deref(),
        verdict => verdict.from(),
    };
    match other {
        Some(name) => {
            object.string("other", &String::from_utf8_lossy(name));
            if str::from_utf8(name).is_err() {
                object.string("other_hex", &hex(name));
            }
        }
        None => drop(object.null("other")),
    }
    match finding.verdict.detail() {
        detail if detail.is_empty() => object.null("detail"),
        detail => object.string("detail", &detail),
    };
    match finding.evidence {
        None => object.null("evidence"),
        Some(evidence) => object.string("evidence", evidence.word()),
    };
    match &finding.located {
        None => {}
        Some(Located::Unknown(cause)) => drop(object.null("ranges").string("outboard", cause)),
        Some(Located::Bytes(bad)) => {
            let range = |found: &Flaw| {
                let (state, Range { start, end }) = (state_word(found.kind), &found.range);
                format!("{{\"state\":\"{state}\",\"start\":{start},\"end\":{end}}}")
            };
            let ranges: Vec<_> = bad.first.iter().map(range).collect();
            object.list("ranges", &ranges).number("more_ranges", bad.more);
            object.number("bad", bad.bad).number("unknown", bad.unknown);
            object.number("extra", bad.extra).number("bytes", bad.len);
        }
    }
    object.finish()
}

fn summary_json(report: &Report, limits: Option<&Limits<'_>>, digest: Option<Hash>) -> String {
    let mut object = Object::new();
    object.number("entries", report.entries());
    for class in Class::ALL {
        object.number(class.word(), report.count(class));
    }
    let mut evidence = Object::new();
    for known in Evidence::ALL {
        evidence.number(known.word(), report.known_by(known));
    }
    object.raw("evidence", evidence.finish().trim_end());
    for (key, number) in [
        ("files_read", report.files_read),
        ("bytes_read", report.bytes_read),
        ("files_unread", report.files_unread),
        ("bytes_unread", report.bytes_unread),
        ("files_linked", report.files_linked),
        ("files_resumed", report.files_resumed),
        ("bytes_resumed", report.bytes_resumed),
        ("files_kept", report.files_kept),
        ("uncovered", report.uncovered),
    ] {
        object.number(key, number);
    }
    if let Some(limits) = limits {
        limits.add_to(&mut object, report);
    }
    for (key, is) in [("differs", report.differs()), ("certain", report.is_certain())] {
        object.raw(key, if is { "true" } else { "false" });
    }
    if let Some(digest) = digest {
        object.string("digest", &digest.to_hex());
    }
    object.finish()
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
            ", {unread} known by metadata, not read ({}; their size, times and inode are those of the manifest)",
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

/// Since when every file was read, and how long a round takes.
pub(super) fn round(report: &Report, totals: &Totals, budget: Budget) -> String {
    let bytes = budget.of(totals.bytes).max(1);
    let runs = count(totals.bytes.div_ceil(bytes).max(1), "such run");
    match report.oldest {
        Some(day) => format!(
            "every file that is as recorded was read on {day} or later; with this budget, {runs} read all files once"
        ),
        None => format!("no file is as recorded; with this budget, {runs} read all files once"),
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
pub(super) struct Limits<'a> {
    pub(super) quick: bool,
    pub(super) only: &'a [String],
    pub(super) not_compared: &'a [String],
}

impl Limits<'_> {
    fn add_to(&self, object: &mut Object, report: &Report) {
        object.raw("quick", if self.quick { "true" } else { "false" });
        object.strings("only", self.only).number("skipped", report.skipped);
        object.strings("not_compared", self.not_compared);
    }
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
pub(super) fn damage(console: &Console<'_>, list: &Path, cause: &str) {
    let index = treewide_manifest::index_path(list);
    console.about(
        &index,
        format_args!(
            "is not used: {cause}; so links, directories, modes, attributes and names that are not UTF-8 were not checked; \
             `treewide update --accept-damage` writes a new one, and keeps the digests of files whose content differs"
        ),
    );
}
