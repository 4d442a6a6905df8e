//! Finds references of documents that lead nowhere: records and their sections, targets of links, tested examples.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The text files of the repository.
fn files() -> Vec<(PathBuf, String)> {
    fn walk(folder: &Path, files: &mut Vec<(PathBuf, String)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let name = entry.file_name().into_string().unwrap();
            if kind.is_dir()
                && !["target", "node_modules"].contains(&name.as_str())
                && (!name.starts_with('.') || name == ".github")
            {
                walk(&path, files);
            }
            let ending = path.extension().and_then(|it| it.to_str()).unwrap_or("");
            if kind.is_file()
                && ["md", "rs", "sh", "py", "toml", "txt", "yml", "mjs", "ts"].contains(&ending)
            {
                files.push((path.clone(), std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let mut found = Vec::new();
    walk(&root(), &mut found);
    found
}

/// The anchors of a Markdown file, as GitHub makes them: lower case, hyphens for spaces, no punctuation.
fn anchors(markdown: &str) -> Vec<String> {
    let mut fenced = false;
    let mut anchors = Vec::<String>::new();
    for line in markdown.lines() {
        fenced ^= line.trim_start().starts_with("```");
        let title = line.trim_start_matches('#');
        if fenced || title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let slug = title.trim().to_lowercase().replace(' ', "-");
        anchors
            .push(slug.chars().filter(|&it| it.is_alphanumeric() || "-_".contains(it)).collect());
    }
    anchors
}

/// What is wrong with a path and perhaps an anchor, if anything is.
fn fault(
    target: &Path,
    anchor: Option<&str>,
    known: &mut HashMap<PathBuf, Vec<String>>,
) -> Option<String> {
    if !target.exists() {
        return Some(format!("{} does not exist", target.display()));
    }
    let anchor = anchor?;
    let of_file = known
        .entry(target.to_path_buf())
        .or_insert_with(|| anchors(&std::fs::read_to_string(target).unwrap()));
    (!of_file.iter().any(|it| it == anchor))
        .then(|| format!("{} has no section #{anchor}; it has {of_file:?}", target.display()))
}

#[test]
fn cited_records_exist() {
    let (root, mut known, mut cases, mut faults) = (root(), HashMap::new(), 0, Vec::new());
    for (path, text) in files() {
        for (at, _) in text.match_indices("results/") {
            let cited: String = text[at..]
                .chars()
                .take_while(|&it| it.is_alphanumeric() || "-_./#".contains(it))
                .collect();
            let (file, anchor) = match cited.split_once('#') {
                Some((file, anchor)) => (file, Some(anchor.trim_end_matches(['.', '/']))),
                None => (cited.trim_end_matches('.'), None),
            };
            // Not `results/<machine>/...` or a folder.
            let is_record = [".json", ".md", ".txt"].iter().any(|ending| file.ends_with(ending));
            if file.split('/').count() != 3 || !is_record {
                continue;
            }
            cases += 1;
            faults.extend(
                fault(&root.join(file), anchor, &mut known)
                    .map(|it| format!("{}: {it}", path.display())),
            );
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(cases > 0, "nothing cites a record");
    println!("{cases} cases");
}

#[test]
fn links_in_markdown_lead_somewhere() {
    let (mut known, mut cases, mut faults) = (HashMap::new(), 0, Vec::new());
    for (path, text) in files() {
        if path.extension().is_none_or(|it| it != "md") {
            continue;
        }
        for (at, _) in text.match_indices("](") {
            let target = text[at + 2..].split(')').next().unwrap();
            if target.contains("://") {
                continue;
            }
            let (file, anchor) = match target.split_once('#') {
                Some((file, anchor)) => (file, Some(anchor)),
                None => (target, None),
            };
            let target =
                if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            cases += 1;
            faults.extend(
                fault(&target, anchor, &mut known).map(|it| format!("{}: {it}", path.display())),
            );
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(cases > 0, "no Markdown has links");
    println!("{cases} cases");
}

/// Folders whose names begin a path in scripts, workflows, manifests, comments and documents.
const ROOMS: [&str; 9] = [
    ".ci/",
    ".github/",
    "bindings/",
    "crates/",
    "dev/",
    "docs/",
    "results/",
    "scripts/",
    "vectors/",
];

#[test]
fn paths_lead_somewhere() {
    let is_path = |it: char| it.is_ascii_alphanumeric() || "_./-".contains(it);
    let (root, mut cases, mut faults) = (root(), 0, Vec::new());
    for (file, text) in files() {
        // Records name the files of their commit.
        if file.strip_prefix(&root).unwrap().starts_with("results") {
            continue;
        }
        for room in ROOMS {
            for (at, _) in text.match_indices(room) {
                let inside = |it: char| is_path(it) || "$}*…".contains(it);
                let before = text[..at].trim_end_matches("./");
                if before.ends_with(inside) && !before.ends_with([' ', '(']) {
                    continue;
                }
                let path: String = text[at..].chars().take_while(|&it| is_path(it)).collect();
                let path = path.trim_end_matches(['.', '-']);
                let is_made = ["/target", "/dist/", "NAME"].iter().any(|it| path.contains(it));
                // `vectors/hash` is also the name of a count that tests print.
                if is_made || path == room || (room == "vectors/" && !path.ends_with(".json")) {
                    continue;
                }
                cases += 1;
                if !root.join(path).exists() && !file.parent().unwrap().join(path).exists() {
                    faults.push(format!("{} names {path}, which does not exist", file.display()));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(cases > 300, "{cases} cases");
    println!("{cases} cases");
}

#[test]
fn readme_shows_examples_that_are_tested() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    // That of the crate is compiled and run as documentation; this one cannot be, as it is outside of the package.
    let tested = read("crates/treewide/README.md");
    let readme = read("README.md");
    let shown: Vec<&str> =
        readme.split("```rust\n").skip(1).map(|it| it.split("```").next().unwrap()).collect();
    assert!(!shown.is_empty(), "README.md has no example in Rust");
    for example in shown {
        assert!(tested.contains(example), "crates/treewide/README.md lacks:\n{example}");
    }
}

#[test]
fn architecture_names_files_that_exist() {
    let text = std::fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    // A file is named by the end of its path, a folder by some part of it.
    let paths: Vec<String> =
        files().iter().map(|(path, _)| path.to_string_lossy().into_owned()).collect();
    let mut cases = 0;
    for code in text.split('`').skip(1).step_by(2) {
        let is_path = code.contains('/') || code.ends_with(".rs") || code.ends_with(".md");
        if !is_path || code.contains(['<', '\n', ' ']) || code.contains("NAME") {
            continue;
        }
        let part = format!("/{}", code.trim_start_matches("./"));
        let exists = root().join(code).exists()
            || paths.iter().any(|it| match code.contains('.') {
                true => it.ends_with(&part),
                false => it.contains(&format!("{}/", part.trim_end_matches('/'))),
            });
        assert!(exists, "docs/architecture.md names {code}, which does not exist");
        cases += 1;
    }
    assert!(cases > 50, "{cases} cases");
    println!("{cases} cases");
}
