//! `treewide manifest`: show what a manifest says.

use super::root;
use crate::args::algorithm;
use crate::commands::comparing::run;
use crate::commands::help::Notes;
use crate::shell::console::complain;
use crate::shell::outcome::Outcome;
use crate::shell::output;
use crate::shell::program::Program;
use crate::shell::wording::count;
use anyhow::bail;
use clap::{Args, Subcommand};
use indicatif::HumanBytes;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use treewide_digests::Algorithm;
use treewide_files::name::{Listed, shown};
use treewide_manifest::list::Line;
use treewide_manifest::record::What;
use treewide_manifest::sums;
use treewide_manifest::xattrs::Xattrs;
use treewide_manifest::{Index, Manifest, past_totals};

pub(crate) const MANIFEST: Notes = Notes {
    exit: &[
        ("0", "everything was printed"),
        ("2", "invalid usage"),
        ("3", "the list could not be read, or is damaged"),
    ],
    ..Notes::new(&[
        ("treewide manifest stat photos.b3", "totals, rules and digests"),
        ("treewide manifest stat photos.b3 2024/a.jpg", "what is recorded of a path"),
        ("treewide manifest statement model.b3", "what tools that sign models sign"),
        ("treewide manifest lines SUMS.json", "any list as sorted lines of b3sum's"),
        ("treewide manifest lines --algorithm sha256 photos.b3 > SHA256SUMS", ""),
    ])
};

/// Show what a manifest says
#[derive(Args)]
#[command(after_help = MANIFEST.short(), after_long_help = MANIFEST.long())]
pub(crate) struct ManifestArgs {
    #[command(subcommand)]
    show: Show,
}

#[derive(Subcommand)]
enum Show {
    /// Print the lines of a list as b3sum writes them, in the order of their names
    ///
    /// The list may be any that `treewide check` reads: tagged, JSON, UTF-16, with CRLF, in any order.
    Lines {
        /// The list
        #[arg(value_name = "X.b3", value_parser = root::list())]
        list: PathBuf,
        /// Print the digests by this algorithm that `snapshot --also` has recorded, as sha256sum does
        ///
        /// Nothing is printed if a file has none.
        #[arg(long, value_name = "NAME", value_parser = algorithm::of_lines())]
        algorithm: Option<Algorithm>,
    },
    /// Print the in-toto statement that the model-signing format of the OpenSSF signs
    ///
    /// It has the BLAKE3 digests of all files, except for .git, .gitattributes, .github and .gitignore at the root, which
    /// the format leaves out. Links, directories, modes and times are not in it.
    Statement {
        /// The list of the manifest
        #[arg(value_name = "X.b3", value_parser = root::list())]
        list: PathBuf,
        /// The name of the signed file; by default that of the list, without its ending
        #[arg(long)]
        name: Option<String>,
    },
    /// Print what is recorded of a path, or of the manifest as a whole
    Stat {
        /// The list of the manifest
        #[arg(value_name = "X.b3", value_parser = root::list())]
        list: PathBuf,
        /// The path, relative to the directory of the manifest
        path: Option<String>,
    },
}

impl ManifestArgs {
    pub(crate) fn run(&self, program: Program) -> anyhow::Result<Outcome> {
        run(program, || {
            match &self.show {
                Show::Lines { list, algorithm } => {
                    match algorithm.filter(|it| *it != Algorithm::BLAKE3) {
                        None => lines(program, &treewide_manifest::open(list)?)?,
                        Some(it) => {
                            output::print(&sums::list(&treewide_manifest::open(list)?, it)?)?
                        }
                    }
                }
                Show::Statement { list, name } => statement(list, name.as_deref())?,
                Show::Stat { list, path: None } => total(&treewide_manifest::open(list)?)?,
                Show::Stat { list, path: Some(path) } => {
                    stat(&treewide_manifest::open(list)?, path)?
                }
            }
            Ok(Outcome::Success)
        })
    }
}

fn lines(program: Program, manifest: &Manifest) -> anyhow::Result<()> {
    if let Index::Ignored(cause) = manifest.index() {
        let index = shown(&treewide_manifest::index_path(manifest.list().path()));
        complain(program, &format!("{index}: {cause}; so files may be gone from the list"));
    }
    let (mut all, mut line, mut text) = (manifest.list().lines(), Line::empty(), Vec::new());
    while all.next(&mut line)? {
        if line.is_ambiguous {
            bail!(
                "{}: a name has U+FFFD for bytes that the list could not hold",
                shown(manifest.list().path())
            );
        }
        line.push_to(&mut text);
    }
    output::print(&text)
}

fn statement(list: &Path, name: Option<&str>) -> anyhow::Result<()> {
    let stem = list.file_stem().map(|it| it.to_string_lossy());
    let name = name.or(stem.as_deref()).unwrap_or_default();
    let mut text = Vec::new();
    treewide_manifest::statement::write(&treewide_manifest::open(list)?, name, &mut text)?;
    output::print(&text)
}

fn total(manifest: &Manifest) -> anyhow::Result<()> {
    let mut text = format!("digest of the list: {}\n", manifest.list().hash().to_hex());
    if !manifest.has_index() {
        let _ = writeln!(text, "files: {}", manifest.list().len());
    }
    match manifest.index() {
        Index::Absent => text += "index: there is none\n",
        Index::Ignored(cause) => drop(writeln!(text, "index: not used, {cause}")),
        Index::Bound(ends) => {
            let (header, trailer) = &**ends;
            let _ = writeln!(text, "entries: {}", trailer.end);
            let _ = writeln!(text, "files: {}, {} bytes", trailer.files, trailer.bytes);
            let _ = writeln!(text, "digest of the manifest: {}", trailer.facts);
            let _ = writeln!(text, "made: {}, on {}", header.began, header.fs.kind);
            if !header.rules.exclude.is_empty() {
                let _ = writeln!(text, "excluded: {}", header.rules.exclude.join(" "));
            }
            if !header.also.is_empty() {
                let _ = writeln!(text, "digests also by: {}", header.also.join(" "));
            }
            if let Some(past) = past_totals(manifest)? {
                if let (Some(first), Some(bytes)) = (past.first, past.bytes) {
                    let (runs, bytes) = (count(past.runs as u64, "run"), HumanBytes(bytes));
                    let _ = writeln!(text, "past: {runs} from {first} on, {bytes}");
                }
                if let Some(damage) = &past.damage {
                    let _ = writeln!(text, "past: {damage}");
                }
            }
            text += match header.rules.xattrs {
                Xattrs::None => "",
                Xattrs::WithoutTrusted => "extended attributes: all but trusted.*\n",
                Xattrs::All => "extended attributes: all\n",
            };
        }
    }
    output::print(text.as_bytes())
}

fn stat(manifest: &Manifest, path: &str) -> anyhow::Result<()> {
    for record in manifest.records()? {
        let record = record?;
        if record.bare() != path.as_bytes() {
            continue;
        }
        let mut text = format!("{}: {}\n", Listed::new(path.as_ref()), record.kind().word());
        match &record.what {
            What::File(file) => {
                let _ = writeln!(text, "digest: {}", treewide_files::digest::hex(&file.digest));
                if let Some(facts) = &file.facts {
                    for (algorithm, digest) in &facts.also {
                        let digest = treewide_files::digest::hex(digest);
                        let _ = writeln!(text, "{}: {digest}", algorithm.name());
                    }
                    let _ = writeln!(text, "bytes: {}", facts.bytes);
                    if let Some(mode) = facts.mode {
                        let _ = writeln!(text, "mode: {mode:04o}");
                    }
                    match &facts.key {
                        None => text += "key: none, so that it is read each time\n",
                        Some(key) => {
                            let _ =
                                writeln!(text, "mtime: {} ns, ctime: {} ns", key.mtime, key.ctime);
                            let number =
                                |it: Option<u64>| it.map_or("any".into(), |it| it.to_string());
                            let _ = writeln!(
                                text,
                                "inode: {}, device: {}",
                                number(key.inode),
                                number(key.device)
                            );
                        }
                    }
                    if let Some(day) = facts.read {
                        let _ = writeln!(text, "read: {day}");
                    }
                }
            }
            What::Link(target) => {
                let _ = writeln!(
                    text,
                    "leads to: {}",
                    shown(String::from_utf8_lossy(target).as_ref().as_ref())
                );
            }
            What::Directory(Some(mode)) => drop(writeln!(text, "mode: {mode:04o}")),
            What::Directory(None) | What::Special(_) | What::Unknown(..) => {}
        }
        for xattr in &record.xattrs {
            let _ = writeln!(text, "attribute {}", xattr.shown());
        }
        return output::print(text.as_bytes());
    }
    bail!("{}: does not have {}", shown(manifest.list().path()), shown(path.as_ref()))
}
