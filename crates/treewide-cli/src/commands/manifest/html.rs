//! The report of `treewide verify --html`: one page that needs nothing else, with every path that differs.
//!
//! The rows stand in it as JSON, one a line, as they are found; what counts them follows. A script shows some hundreds
//! of them at a time, so that a page of 100,000 stays usable. Names are text in it, never HTML.

use super::report::Limits;
use crate::commands::page::{Labels, Page, html, visible};
use crate::shell::progress::Progress;
use crate::shell::terminal::{self, Form};
use crate::shell::wording::count;
use indicatif::HumanBytes;
use std::path::{Path, PathBuf};
use treewide_files::digest::hex;
use treewide_files::list::json::Object;
use treewide_files::name::shown_text;
use treewide_manifest::record::Type;
use treewide_manifest::{Class, Evidence, Finding, Manifest, Report, Verdict, day};

/// A page that is being written. It appears all at once.
pub(super) struct Html<'a>(Page<'a>);

/// What the page says of the run.
pub(super) struct About<'a> {
    pub(super) manifest: &'a Manifest,
    pub(super) dir: &'a Path,
    pub(super) limits: &'a Limits<'a>,
    /// The exit status.
    pub(super) code: u8,
}

impl<'a> Html<'a> {
    /// Begins a page at `path`. An error if that is one of the `inputs`.
    pub(super) fn open(
        place: (&Path, bool),
        list: &Path,
        inputs: &[PathBuf],
        progress: &'a Progress,
    ) -> anyhow::Result<Self> {
        let title = format!("Report on {}", visible(list));
        let labels = Labels { title: &title, fixed: ["Differences and problems", "Verdict"] };
        Ok(Self(Page::open(place, &labels, inputs, progress)?))
    }

    /// The page, and the file that it is written to until then.
    pub(super) fn places(&self) -> Vec<PathBuf> {
        self.0.places()
    }

    /// Adds a finding; that it cannot be written shows at the end.
    pub(super) fn add(&mut self, finding: &Finding) {
        if !matches!(finding.verdict.class(), Class::Same | Class::Touched) {
            self.0.row(&row(finding));
        }
    }

    /// Writes the rest, and lets the page appear.
    pub(super) fn finish(self, report: &Report, about: &About<'_>) -> anyhow::Result<()> {
        self.0.finish(&summary(report, about))
    }
}

fn row(finding: &Finding) -> String {
    let path = finding.path();
    let name = visible(&path);
    let slash = if finding.kind == Type::Directory { "/" } else { "" };
    let mut object = Object::about(Path::new(&format!("{name}{slash}")));
    if path.to_str() != Some(&name) {
        object.string("path_hex", &hex(&finding.name));
    }
    let detail = match &finding.verdict {
        Verdict::Moved { from } => {
            let from = Finding { name: from.clone(), ..finding.clone() };
            format!("was {}", visible(&from.path()))
        }
        _ => {
            terminal::escape(&shown_text(&super::report::detail(finding)), Form::Lines).into_owned()
        }
    };
    object.string("verdict", finding.verdict.class().word()).string("detail", &detail);
    object.string("evidence", finding.evidence.map_or("", Evidence::word));
    object.finish()
}

fn summary(report: &Report, about: &About<'_>) -> String {
    let (class, result) = match about.code {
        0 if report.differs() => ("good", "Only such differences as --fail-on leaves out"),
        0 if about.limits.quick => ("good", "Nothing looks different"),
        0 if !about.limits.only.is_empty() => {
            ("good", "Everything that was looked at is as recorded")
        }
        0 => ("good", "Everything is as recorded"),
        1 => ("bad", "Something differs"),
        _ => ("unknown", "Undetermined: not everything could be compared"),
    };
    let list = about.manifest.list();
    let code = |text: &str| format!("<code>{}</code>", html(text));
    let mut facts = vec![
        ("Directory", code(&visible(about.dir))),
        ("Compared", html(&format!("{}, exit status {}", day::now(), about.code))),
    ];
    facts.push(match treewide_manifest::facts_of(about.manifest) {
        Some(digest) => ("Digest of the manifest", code(digest.to_hex().as_str())),
        None => ("Digest of the list", code(list.hash().to_hex().as_str())),
    });
    if !about.limits.only.is_empty() {
        let only = shown_text(&about.limits.only.join(" "));
        let skipped = format!("{} recorded paths were not looked at", report.skipped);
        facts.push(("Only", format!("{}; {skipped}", code(&only))));
    }
    let read = (report.files_read, report.bytes_read);
    facts.push(("Read", format!("{}, {}", count(read.0, "file"), HumanBytes(read.1))));
    if report.files_unread > 0 {
        let (files, bytes) = (count(report.files_unread, "file"), HumanBytes(report.bytes_unread));
        let cause = "their times, size and inode are those of the manifest";
        facts.push(("Not read", format!("{files}, {bytes}: {cause}")));
    }
    if let Some(cause) = &report.damage {
        let text = terminal::escape(cause, Form::Lines);
        let text = format!("not used: {text}; so links, directories and modes were not checked");
        facts.push(("Index", html(&text)));
    }
    let mut parts = about.limits.not_compared.to_vec();
    if report.trusted_unseen {
        parts.push("extended attributes trusted.*, which only the administrator sees".into());
    }
    if !parts.is_empty() {
        facts.push(("Not compared", html(&terminal::escape(&parts.join(", "), Form::Lines))));
    }
    let facts: String = facts.iter().map(|(k, v)| format!("<dt>{k}</dt><dd>{v}</dd>\n")).collect();
    let counts: String = Class::ALL
        .into_iter()
        .filter(|class| report.count(*class) > 0)
        .map(|class| {
            let (word, number) = (class.word(), report.count(class));
            format!("<tr><th scope=\"row\">{word}</th><td>{number}</td></tr>\n")
        })
        .collect();
    let nothing = match report.nothing_checked {
        true => "<p>Nothing was checked: the list names no file.</p>\n",
        false => "",
    };
    let entries = report.entries();
    let (name, title) = (html(&visible(list.path())), "Report on");
    let paths = if entries == 1 { "path" } else { "paths" };
    format!(
        "<h1>{title} <code>{name}</code></h1>\n<p class=\"result {class}\">{result}</p>\n{nothing}\
         <dl>\n{facts}</dl>\n<h2 id=\"counts\">{entries} {paths}</h2>\n\
         <table aria-labelledby=\"counts\"><tbody>\n{counts}</tbody></table>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_shows_what_would_hide() {
        let name = "</script><img src=x onerror=alert(1)>\u{202e}\n".as_bytes().to_vec();
        let finding = Finding {
            name,
            kind: Type::File,
            verdict: Verdict::Added,
            evidence: None,
            located: None,
        };
        let row = row(&finding);
        assert!(row.ends_with("}\n") && row.lines().count() == 1, "{row}");
        assert!(row.contains(r"\\u{202e}\\n") && row.contains("path_hex"), "{row}");
        let value: serde_json::Value = serde_json::from_str(&row).unwrap();
        assert!(value["path"].as_str().unwrap().starts_with("</script><img"));
    }
}
