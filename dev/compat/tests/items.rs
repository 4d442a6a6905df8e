//! No public item of the `blake3` crate is missed.
//!
//! `items.txt` lists them. The first test compares that list with the source of the `blake3` crate
//! that this workspace depends on; the second asks whether every item was seen to do something; the
//! third does for the features in the manifests what the first does for the items.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn listed() -> BTreeSet<String> {
    include_str!("items.txt").lines().map(String::from).collect()
}

#[test]
fn the_list_is_that_of_the_source() {
    let Some(source) = source_of_blake3() else {
        println!("SKIPPED: public items: the source of blake3 is not where cargo unpacks it");
        return;
    };
    let (mut found, mut types) = (BTreeSet::new(), BTreeSet::new());
    for (file, prefix) in [
        ("lib.rs", ""),
        ("hazmat.rs", "hazmat::"),
        ("guts.rs", "guts::"),
        ("traits.rs", "traits::"),
    ] {
        let path = source.join("src").join(file);
        let text = std::fs::read_to_string(&path).expect("the source can be read");
        found.extend(public_items(&text, prefix, &mut types));
    }
    let found: Vec<_> = found.into_iter().collect();
    let listed: Vec<_> = listed().into_iter().collect();
    println!("{} public items in {}", found.len(), source.display());
    assert_eq!(found, listed, "update items.txt to:\n{}\n", found.join("\n"));
}

#[test]
fn every_item_is_used() {
    let used: BTreeSet<_> =
        treewide_compat::ours("treewide").into_iter().map(|seen| seen.item.to_string()).collect();
    let listed = listed();
    println!("{} public items, {} used", listed.len(), listed.intersection(&used).count());
    let missing: Vec<_> = listed.difference(&used).collect();
    assert!(missing.is_empty(), "not used: {missing:#?}");
    let unknown: Vec<_> = used.difference(&listed).collect();
    assert!(unknown.is_empty(), "used, but not public items: {unknown:#?}");
}

/// A program may name any of them in its manifest, and does not build where one is missing.
#[test]
fn every_feature_is_there() {
    let Some(source) = source_of_blake3() else {
        println!("SKIPPED: features: the source of blake3 is not where cargo unpacks it");
        return;
    };
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/treewide");
    let [theirs, ours] = [source, here].map(|folder| {
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        features(&manifest)
    });
    assert!(theirs.contains("mmap"), "{theirs:?}");
    println!("{} features", theirs.len());
    let missing: Vec<_> = theirs.difference(&ours).collect();
    assert!(missing.is_empty(), "not in treewide: {missing:#?}");
}

/// Cargo takes the real crate, with a warning only, where the version or a feature does not fit.
#[test]
fn the_shim_fits_in_the_place_of_the_real_crate() {
    let Some(source) = source_of_blake3() else {
        println!("SKIPPED: the shim: the source of blake3 is not where cargo unpacks it");
        return;
    };
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/blake3-shim");
    let [theirs, ours] = [source, here]
        .map(|folder| std::fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest"));
    let version = |manifest: &str| {
        let line = manifest.lines().find(|line| line.starts_with("version = "));
        line.expect("a version").to_string()
    };
    assert_eq!(version(&ours), version(&theirs), "the shim has the version of Cargo.lock");
    assert_eq!(features(&ours), features(&theirs));
    for name in features(&theirs).into_iter().filter(|name| name != "default") {
        let line = format!("\n{name} = [\"treewide/{name}\"]\n");
        assert!(ours.contains(&line), "{name} does nothing");
    }
}

/// The names in the section `[features]`, and those of optional dependencies that are features
/// since nothing says `dep:` of them.
fn features(manifest: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let (mut section, mut optional) = ("", Vec::new());
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line.trim_matches(['[', ']']);
        } else if let Some((name, value)) = line.split_once(" = ") {
            match section.split_once('.') {
                None if section == "features" => {
                    names.insert(name.to_string());
                }
                // As in the manifests of crates that cargo has packed.
                Some(("dependencies", dependency)) if (name, value) == ("optional", "true") => {
                    optional.push(dependency);
                }
                _ => {}
            }
        }
    }
    let implicit = |it: &&&str| !manifest.contains(&format!("\"dep:{it}\""));
    names.extend(optional.iter().filter(implicit).map(|it| it.to_string()));
    names
}

/// Where cargo unpacked the version of `blake3` that `Cargo.lock` names.
fn source_of_blake3() -> Option<PathBuf> {
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    let lock = std::fs::read_to_string(lock).ok()?;
    let version = lock.split_once("name = \"blake3\"\nversion = \"")?.1.split('"').next()?;
    let home = match std::env::var_os("CARGO_HOME") {
        Some(home) => PathBuf::from(home),
        None => Path::new(&std::env::var_os("HOME")?).join(".cargo"),
    };
    let registries = std::fs::read_dir(home.join("registry/src")).ok()?;
    registries
        .filter_map(|registry| Some(registry.ok()?.path().join(format!("blake3-{version}"))))
        .find(|source| source.is_dir())
}

/// The public items that a source file declares, names in `public` being public already. It is read line by line: the file is formatted by
/// rustfmt, so that the indentation shows what belongs together.
fn public_items(source: &str, prefix: &str, public: &mut BTreeSet<String>) -> Vec<String> {
    let mut items = Vec::new();
    // What the indented lines belong to: a type, a trait or an enum with this name.
    let mut owner: Option<(&str, String)> = None;
    let mut attributes = String::new();
    for line in source.lines() {
        let text = line.trim();
        let indent = line.len() - line.trim_start().len();
        if text.is_empty() || text.starts_with("//") {
            continue;
        }
        if text.starts_with("#[") {
            attributes += text;
            continue;
        }
        let attributes = std::mem::take(&mut attributes);
        if attributes.contains("cfg(test)") && text.starts_with("mod") && text.ends_with('{') {
            break; // The tests come last.
        }
        if indent == 0 && text.ends_with('{') {
            owner = None;
        }
        if attributes.contains("doc(hidden)") || attributes.contains("#[test]") {
            continue;
        }
        let (head, is_public) = match text.strip_prefix("pub ") {
            Some(head) => (head.strip_prefix("const fn").map_or(head, |_| &head[6..]), true),
            None => (text, false),
        };
        let (kind, rest) = head.split_once(' ').unwrap_or((head, ""));
        let name: String =
            rest.chars().take_while(|c| c.is_alphanumeric() || "_".contains(*c)).collect();
        match (indent, kind) {
            (0, "const" | "fn" | "struct" | "enum" | "trait" | "type" | "mod" | "use")
                if is_public =>
            {
                items.push(format!("{kind} {prefix}{name}"));
                public.insert(name.clone());
                let derives = attributes.split("derive(").skip(1);
                for traits in derives.filter_map(|it| it.split_once(')')).map(|(it, _)| it) {
                    for derived in traits.split(", ") {
                        items.push(format!("impl {derived} for {prefix}{name}"));
                    }
                }
                if text.ends_with('{') && matches!(kind, "enum" | "trait") {
                    owner = Some((kind, name));
                }
            }
            (0, _) if text.starts_with("impl") => {
                // `impl Type {` or `impl Trait for Type {`, generics after `impl` left out.
                let header = text.split('{').next().unwrap().trim();
                let header = match header.strip_prefix("impl<") {
                    Some(generic) => generic.split_once('>').unwrap().1.trim(),
                    None => header.strip_prefix("impl ").unwrap(),
                };
                let words: Vec<_> =
                    header.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
                let ours = words.iter().any(|word| public.contains(*word));
                match header.split_once(" for ") {
                    Some(_) if ours => items.push(format!("impl {header}")),
                    None => owner = Some(("impl", words[0].to_string())),
                    Some(_) => {}
                }
            }
            (4, "fn") => match &owner {
                Some(("impl", name_of_type)) if is_public => {
                    items.push(format!("fn {prefix}{name_of_type}::{name}"))
                }
                Some(("trait", name_of_trait)) => {
                    items.push(format!("fn {prefix}{name_of_trait}::{name}"))
                }
                _ => {}
            },
            (4, variant) => {
                if let Some(("enum", name_of_enum)) = &owner {
                    let end = variant.find(|c: char| !c.is_alphanumeric()).unwrap_or(variant.len());
                    items.push(format!("variant {prefix}{name_of_enum}::{}", &variant[..end]));
                }
            }
            _ => {}
        }
    }
    items
}
