//! A model in one file or several: a file, an index, a directory as the Hub has it, or the parts of a split GGUF file.

use crate::error::{Error, ErrorKind, fault, short};
use crate::header::gguf::Split;
use crate::header::{self, Header, LONGEST, object, other};
use crate::list;
use crate::opening::{open, opening};
use crate::options::Options;
use crate::ranges;
use crate::tensor::{Tensor, TensorDigest, Tensors};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use treewide_files::name::shown;

/// A model whose headers were read and checked, or the list of one.
#[derive(Debug)]
pub struct Model {
    files: Vec<ModelFile>,
    /// What a list says. It has no files.
    listed: Option<Tensors>,
    not_read: Vec<PathBuf>,
}

#[derive(Debug)]
struct ModelFile {
    path: PathBuf,
    written: Option<SystemTime>,
    tensors: Vec<Tensor>,
    aliases: Vec<(String, String)>,
    split: Option<Split>,
}

/// How names of files end that have weights.
const WEIGHTS: [&str; 9] =
    [SAFETENSORS, GGUF, ".bin", ".pt", ".pth", ".ckpt", ".distcp", ".h5", ".msgpack"];
const SAFETENSORS: &str = ".safetensors";
const GGUF: &str = ".gguf";
const INDEX: &str = ".safetensors.index.json";

impl Model {
    /// Reads the headers of a model, and checks them.
    ///
    /// `path` is a file of safetensors or GGUF, which the file's first bytes say; the index `*.safetensors.index.json` of several files;
    /// the first part `*-00001-of-0000N.gguf` of a split file; a directory with one of these; or a list.
    ///
    /// # Errors
    /// If a file cannot be read, or is not valid: see [`header::read`](crate::header::read) and [`list::read`]. If a tensor is in
    /// two files, if the files do not have the tensors that the index says, if parts are missing, and if no tensor has bytes.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let is_directory = fs::metadata(path).map_err(|error| opening(path, error))?.is_dir();
        let mut model = Self { files: Vec::new(), listed: None, not_read: Vec::new() };
        if !is_directory && list::is_list(path) {
            model.listed = Some(list::read(path)?);
        } else {
            let paths = if is_directory { inside(path)? } else { parts(path) };
            model.files = match &*paths {
                [index] if index.to_string_lossy().ends_with(".json") => indexed(index)?,
                paths => {
                    paths.iter().map(|path| ModelFile::open(path)).collect::<Result<_, _>>()?
                }
            };
            model.check_parts()?;
            model.check_names()?;
            model.not_read = model.others(path, is_directory);
        }
        if !model.listed.as_ref().map_or(model.bytes() > 0, Tensors::have_bytes) {
            let text = "has no weights: there is no tensor, or none has bytes";
            return Err(Error::new(path, fault(text)));
        }
        Ok(model)
    }

    /// The files, in their order. A list has none.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|file| &*file.path)
    }

    /// Files with weights that were not read: next to an index or in a directory all others, else the other parts of the model.
    pub fn not_read(&self) -> &[PathBuf] {
        &self.not_read
    }

    /// The bytes of all tensors that are read.
    pub fn bytes(&self) -> u64 {
        self.places().map(|(_, it)| it.range.end - it.range.start).sum()
    }

    /// Type, shape and digest of each tensor.
    ///
    /// # Errors
    /// If a file cannot be read, becomes shorter, or was written to after its header was read, and when the work is cancelled.
    pub fn digests(&self, options: &Options) -> Result<Tensors, Error> {
        let mut all = self.listed.clone().unwrap_or_default();
        for file in &self.files {
            options.progress.reached(&file.path);
            all.extend(file.digests(options)?);
            all.aliases.extend(file.aliases.iter().cloned());
            options.progress.hashed(1, 0);
        }
        // Another file may have such a name for a tensor.
        let Tensors { named, aliases } = &mut all;
        aliases.retain(|name, _| !named.contains_key(name));
        Ok(all)
    }

    /// Each tensor with its file, file by file.
    pub fn places(&self) -> impl Iterator<Item = (&Path, &Tensor)> {
        self.files.iter().flat_map(|file| file.tensors.iter().map(|it| (&*file.path, it)))
    }

    /// Checks that the files are the parts of one split file.
    fn check_parts(&self) -> Result<(), Error> {
        let found = self.files.len() as u64;
        for (no, file) in (0..).zip(&self.files) {
            let fault = |text: String| Err(Error::new(&file.path, fault(text)));
            match file.split {
                Some(Split { count, no: is, .. }) if count != found => {
                    return fault(format!(
                        "this is part {} of {count}, and there are {found}; name the first part, *-00001-of-{count:05}.gguf, or the \
                         directory, with all parts next to each other",
                        is.saturating_add(1)
                    ));
                }
                Some(split) if split.no != no => {
                    return fault(format!(
                        "its header says split.no {}, and its name {no}",
                        split.no
                    ));
                }
                Some(Split { tensors: Some(all), .. }) if all != self.places().count() as u64 => {
                    return fault(format!(
                        "the parts have {} tensors, and should have {all}",
                        self.places().count()
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn check_names(&self) -> Result<(), Error> {
        let mut places: HashMap<&str, &Path> = HashMap::new();
        for file in &self.files {
            for Tensor { name, .. } in &file.tensors {
                if let Some(before) = places.insert(name, &file.path) {
                    let text = format!(
                        "tensor '{}' is in this file and in {}; if they are two models, name one of them",
                        short(name),
                        shown(before)
                    );
                    return Err(Error::new(&file.path, fault(text)));
                }
            }
        }
        Ok(())
    }

    fn others(&self, path: &Path, is_directory: bool) -> Vec<PathBuf> {
        let is_all = is_directory || path.to_string_lossy().ends_with(INDEX);
        let stem = |path: &Path| Some(part(path, SAFETENSORS).or(part(path, GGUF))?.0.to_owned());
        let own = stem(path);
        if !is_all && own.is_none() {
            return Vec::new();
        }
        let folder = if is_directory { path } else { path.parent().unwrap_or(path) };
        let mut unread = entries(folder).unwrap_or_default();
        unread.retain(|it| {
            let name = it.to_string_lossy();
            WEIGHTS.iter().any(|end| name.ends_with(end))
                && (is_all || stem(it) == own)
                && !self.files().any(|read| read.file_name() == it.file_name())
        });
        unread
    }
}

impl ModelFile {
    fn open(path: &Path) -> Result<Self, Error> {
        let (file, size, written) = open(path)?;
        let Header { tensors, aliases, split } =
            header::read(file, size).map_err(|kind| Error::new(path, kind))?;
        Ok(Self { path: path.to_owned(), written, tensors, aliases, split })
    }

    fn digests(&self, options: &Options) -> Result<Vec<(String, TensorDigest)>, Error> {
        let failed = |kind: ErrorKind| Error::new(&self.path, kind);
        let (file, size, written) = open(&self.path)?;
        let mut order: Vec<&Tensor> = self.tensors.iter().collect();
        order.sort_by_key(|it| (it.range.start, it.range.end));
        let ranges: Vec<_> = order.iter().map(|it| it.range.clone()).collect();
        // A file that is shorter now has a better message.
        if written != self.written && ranges.last().is_none_or(|it| it.end <= size) {
            let text = "the file was written to after its header was read; hash it again when nothing writes to it";
            return Err(failed(fault(text)));
        }
        let found = ranges::hash(&file, &ranges, options).map_err(|kind| failed(kind.into()))?;
        Ok(order.into_iter().zip(found).map(|(it, hash)| it.with(hash)).collect())
    }
}

/// What is in a directory, in the order of names.
fn entries(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |error| opening(directory, error);
    let is_here = directory.as_os_str().is_empty();
    let found = fs::read_dir(if is_here { Path::new(".") } else { directory }).map_err(failed)?;
    let paths = found.map(|it| Ok(directory.join(it.map_err(failed)?.file_name())));
    let mut paths = paths.collect::<Result<Vec<_>, _>>()?;
    paths.sort();
    Ok(paths)
}

/// The files of the model in a directory, or its index.
fn inside(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let names = entries(directory)?;
    // A repository in the cache of Hugging Face: its `main`.
    let snapshots = directory.join("snapshots");
    if names.contains(&snapshots)
        && let Ok(main) = fs::read_to_string(directory.join("refs/main"))
        && main.bytes().all(|it| it.is_ascii_alphanumeric())
    {
        return inside(&snapshots.join(main));
    }
    let with = |end: &str| {
        let ends = |it: &&PathBuf| it.to_string_lossy().ends_with(end);
        names.iter().filter(ends).cloned().collect::<Vec<_>>()
    };
    // What loaders take, whatever else is there.
    for usual in ["model.safetensors.index.json", "model.safetensors"] {
        let usual = directory.join(usual);
        if names.contains(&usual) {
            return Ok(vec![usual]);
        }
    }
    let indexes = with(INDEX);
    let is_first = |it: &PathBuf| part(it, GGUF).is_none_or(|(_, no, _)| no == 1);
    let gguf: Vec<_> = with(GGUF).into_iter().filter(is_first).collect();
    let files = with(SAFETENSORS);
    match (&*indexes, &*files, &*gguf) {
        ([_], ..) => Ok(indexes),
        ([], [_, ..], _) => check_sets(&files, &files, None).map(|()| files),
        ([], [], [one]) => Ok(parts(one)),
        ([one, two, ..], ..) | ([], [], [one, two, ..]) => {
            let text = format!(
                "there are several models in this directory, such as {} and {}; name one of them",
                shown(one),
                shown(two)
            );
            Err(Error::new(directory, fault(text)))
        }
        ([], [], []) => {
            let text = "there is no *.safetensors and no *.gguf in this directory";
            Err(opening(directory, io::Error::new(io::ErrorKind::NotFound, text)))
        }
    }
}

/// Checks that `read` has all parts of a model, if it has one or if the index has the name of this model: the parts that the
/// names count, and all that are `here`.
fn check_sets(read: &[PathBuf], here: &[PathBuf], index: Option<&Path>) -> Result<(), Error> {
    let folder = index.or(read.first().map(|it| &**it)).unwrap_or(Path::new(""));
    let sets: BTreeSet<_> =
        read.iter().filter_map(|it| part(it, SAFETENSORS)).map(|(stem, _, n)| (stem, n)).collect();
    let own = index.and_then(|it| it.file_name()?.to_str()?.strip_suffix(INDEX));
    let is_of = |path: &&PathBuf| {
        let stem = part(path, SAFETENSORS).map(|it| it.0);
        stem.is_some_and(|stem| own == Some(stem) || sets.iter().any(|set| set.0 == stem))
    };
    let counted = sets.iter().flat_map(|&(stem, count)| {
        (1..=count).map(move |no| {
            folder.with_file_name(format!("{stem}-{no:05}-of-{count:05}{SAFETENSORS}"))
        })
    });
    let is_read: HashSet<_> = read.iter().map(|it| it.file_name()).collect();
    let mut expected = here.iter().filter(is_of).cloned().chain(counted);
    let Some(missing) = expected.find(|it| !is_read.contains(&it.file_name())) else {
        return Ok(());
    };
    let (stem, _, count) = part(&missing, SAFETENSORS).unwrap_or_default();
    let of_it =
        |it: &&PathBuf| part(it, SAFETENSORS).is_some_and(|it| (it.0, it.2) == (stem, count));
    let (path, cause) = match index {
        Some(index) => {
            let named = read.iter().filter(of_it).count();
            let is_here = if here.contains(&missing) { "here and not in it" } else { "not in it" };
            let missing = shown(&missing);
            (index, format!("the index names {named} of {count} parts; {missing} is {is_here}"))
        }
        None => {
            let missing = shown(&missing);
            let path = read.iter().find(of_it).map_or(folder, |it| it);
            (path, format!("this is a part of {count}, and {missing} is not there"))
        }
    };
    let text = format!("{cause}; name a file itself for its tensors alone");
    Err(Error::new(path, fault(text)))
}

/// The beginning of the name of a part, its number and the number of parts: of `X-00001-of-00003.gguf`.
fn part<'a>(path: &'a Path, end: &str) -> Option<(&'a str, u64, u64)> {
    let (rest, count) = path.file_name()?.to_str()?.strip_suffix(end)?.rsplit_once("-of-")?;
    let (rest, no) = rest.rsplit_once('-')?;
    let number = |text: &str| text.parse().ok().filter(|_| text.len() == 5);
    Some((rest, number(no)?, number(count)?))
}

/// The parts of a split file, if this is the first of them.
fn parts(path: &Path) -> Vec<PathBuf> {
    match part(path, ".gguf") {
        Some((name, 1, count)) => (1..=count)
            .map(|no| path.with_file_name(format!("{name}-{no:05}-of-{count:05}.gguf")))
            .collect(),
        _ => vec![path.to_owned()],
    }
}

/// The files that an index names, which have the tensors that it says.
fn indexed(index: &Path) -> Result<Vec<ModelFile>, Error> {
    let failed = |fault| Error::new(index, fault);
    let (file, ..) = open(index)?;
    let mut text = Vec::new();
    file.take(LONGEST + 1)
        .read_to_end(&mut text)
        .map_err(|error| Error::new(index, ErrorKind::from(error)))?;
    if text.len() as u64 > LONGEST {
        let text = format!("this is not an index: it has more than {LONGEST} bytes");
        return Err(failed(fault(text)));
    }
    let object = object(&text, "the index").map_err(|error| {
        let start = &text[..text.len().min(other::LOOKED_AT as usize)];
        let is_object = text.starts_with(b"{");
        failed(if is_object {
            error
        } else {
            fault(format!("{error}; this is {}", other::what(start)))
        })
    })?;
    let weights = object.get("weight_map").and_then(Value::as_object);
    let Some(weights) = weights.filter(|it| !it.is_empty()) else {
        let text =
            "this is not the index of a model: it has no weight_map, or one that names no tensor";
        return Err(failed(fault(text)));
    };
    let mut shards: BTreeMap<PathBuf, BTreeSet<&str>> = BTreeMap::new();
    for (name, shard) in weights {
        let plain = |it: &&str| Path::new(it).file_name().is_some_and(|name| name == *it);
        let Some(file) = shard.as_str().filter(plain) else {
            let (shown, shard) = (short(name), short(&shard.to_string()));
            let text = format!(
                "tensor '{shown}' is in {shard}, which is not the name of a file next to the index"
            );
            return Err(failed(fault(text)));
        };
        shards.entry(index.with_file_name(file)).or_default().insert(name);
    }
    let named: Vec<_> = shards.keys().cloned().collect();
    let here = entries(index.parent().unwrap_or(index))?;
    check_sets(&named, &here, Some(index))?;
    let mut files = Vec::new();
    for (shard, expected) in shards {
        let file = ModelFile::open(&shard)?;
        let found: BTreeSet<&str> = file.tensors.iter().map(|it| &*it.name).collect();
        for (more, fewer, text) in [
            (&expected, &found, "the index says that tensor '{}' is in this file, and it is not"),
            (&found, &expected, "tensor '{}' is in this file, and the index does not say so"),
        ] {
            if let Some(name) = more.difference(fewer).next() {
                let fault = fault(text.replace("{}", &short(name)));
                return Err(Error::new(&file.path, fault));
            }
        }
        files.push(file);
    }
    Ok(files)
}
