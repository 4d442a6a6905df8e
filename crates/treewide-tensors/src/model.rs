//! A model in one file or several: a file, an index, a directory as the Hub has it, or the parts of a split GGUF file.

use crate::error::{Error, ErrorKind, Fault, short};
use crate::header::gguf::Split;
use crate::header::{self, Header};
use crate::json::{self, LONGEST};
use crate::options::Options;
use crate::ranges;
use crate::tensor::{Tensor, TensorDigest, Tensors};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use treewide::{Mode, OUT_LEN, file};
use treewide_files::name::shown;

/// A model whose headers were read and checked.
#[derive(Debug)]
pub struct Model {
    files: Vec<ModelFile>,
}

#[derive(Debug)]
struct ModelFile {
    path: PathBuf,
    written: Option<SystemTime>,
    tensors: Vec<Tensor>,
    split: Option<Split>,
}

impl Model {
    /// Reads the headers of a model, and checks them.
    ///
    /// `path` is a file of safetensors or GGUF, which the file's first bytes say; the index `*.safetensors.index.json` of several files;
    /// the first part `*-00001-of-0000N.gguf` of a split file; or a directory with one of these.
    ///
    /// # Errors
    /// If a file cannot be read, or is not valid: see [`header::read`](crate::header::read). If a tensor is in two files, if the files
    /// do not have the tensors that the index says, and if parts are missing.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let is_directory = fs::metadata(path).map_err(|error| opening(path, error))?.is_dir();
        let paths = if is_directory { inside(path)? } else { parts(path) };
        let files = match &*paths {
            [index] if index.to_string_lossy().ends_with(".json") => indexed(index)?,
            paths => paths.iter().map(|path| ModelFile::open(path)).collect::<Result<_, _>>()?,
        };
        let model = Self { files };
        model.check_parts()?;
        model.check_names()?;
        Ok(model)
    }

    /// The tensors, file by file, in the order of the headers.
    pub fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        self.files.iter().flat_map(|file| &file.tensors)
    }

    /// The files, in their order.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|file| &*file.path)
    }

    /// The bytes of all tensors.
    pub fn bytes(&self) -> u64 {
        self.tensors().map(|it| it.range.end - it.range.start).sum()
    }

    /// The outputs of the tensors, one after the other, in the order of [`tensors`](Self::tensors).
    ///
    /// # Errors
    /// If a file cannot be read, becomes shorter, or was written to after its header was read, and when the work is cancelled.
    pub fn hash(&self, options: &Options) -> Result<Vec<u8>, Error> {
        let mut outputs = Vec::new();
        for file in &self.files {
            options.progress.reached(&file.path);
            outputs.extend(file.hash(options)?);
            options.progress.hashed(1, 0);
        }
        Ok(outputs)
    }

    /// Type, shape and digest of each tensor. Mode and length of the output of `options` do not count.
    ///
    /// # Errors
    /// As [`hash`](Self::hash).
    pub fn digests(&self, options: &Options) -> Result<Tensors, Error> {
        let outputs = self.hash(&options.clone().mode(Mode::PLAIN).output_len(OUT_LEN))?;
        let tensors = self.tensors().zip(outputs.as_chunks().0).map(|(it, &digest)| {
            (
                it.name.clone(),
                TensorDigest { dtype: it.dtype.clone(), shape: it.shape.clone(), digest },
            )
        });
        Ok(tensors.collect())
    }

    /// Each tensor with its file, in the order of [`tensors`](Self::tensors).
    pub fn places(&self) -> impl Iterator<Item = (&Path, &Tensor)> {
        self.files.iter().flat_map(|file| file.tensors.iter().map(|it| (&*file.path, it)))
    }

    /// Checks that the files are the parts of one split file.
    fn check_parts(&self) -> Result<(), Error> {
        let found = self.files.len() as u64;
        for (no, file) in (0..).zip(&self.files) {
            let fault = |text: String| Err(Error::new(&file.path, Fault::new(text)));
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
                Some(Split { tensors: Some(all), .. }) if all != self.tensors().count() as u64 => {
                    return fault(format!(
                        "the parts have {} tensors, and should have {all}",
                        self.tensors().count()
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
                    return Err(Error::new(&file.path, Fault::of(name, text)));
                }
            }
        }
        Ok(())
    }
}

impl ModelFile {
    fn open(path: &Path) -> Result<Self, Error> {
        let (file, size, written) = open(path)?;
        let Header { tensors, split } =
            header::read(file, size).map_err(|kind| Error::new(path, kind))?;
        Ok(Self { path: path.to_owned(), written, tensors, split })
    }

    fn hash(&self, options: &Options) -> Result<Vec<u8>, Error> {
        let failed = |kind: ErrorKind| Error::new(&self.path, kind);
        let (file, size, written) = open(&self.path)?;
        let mut order: Vec<usize> = (0..self.tensors.len()).collect();
        order.sort_by_key(|&at| (self.tensors[at].range.start, self.tensors[at].range.end));
        let ranges: Vec<_> = order.iter().map(|&at| self.tensors[at].range.clone()).collect();
        // A file that is shorter now has a better message.
        if written != self.written && ranges.last().is_none_or(|it| it.end <= size) {
            let text = "the file was written to after its header was read; hash it again when nothing writes to it";
            return Err(failed(Fault::new(text).into()));
        }
        let found = ranges::hash(&file, &ranges, options).map_err(|kind| failed(kind.into()))?;
        let length = options.output_len;
        let mut outputs = vec![0; found.len()];
        for (place, at) in order.into_iter().enumerate() {
            outputs[at * length..][..length].copy_from_slice(&found[place * length..][..length]);
        }
        Ok(outputs)
    }
}

fn opening(path: &Path, error: io::Error) -> Error {
    Error::new(path, file::ErrorKind::Open(error))
}

/// Opens a file for reading, with its size and when it was written.
pub(crate) fn open(path: &Path) -> Result<(File, u64, Option<SystemTime>), Error> {
    let there = fs::metadata(path).map_err(|error| opening(path, error))?;
    if !there.is_file() {
        return Err(Error::new(path, Fault::new("is not a regular file")));
    }
    let file = File::open(path).map_err(|error| opening(path, error))?;
    let opened = file.metadata().map_err(|error| opening(path, error))?;
    Ok((file, opened.len(), opened.modified().ok()))
}

/// The files of the model in a directory, or its index.
fn inside(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).map_err(|error| opening(directory, error))? {
        names.push(entry.map_err(|error| opening(directory, error))?.path());
    }
    names.sort();
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
    let indexes = with(".safetensors.index.json");
    let is_first = |it: &PathBuf| part(it, ".gguf").is_none_or(|(_, no, _)| no == 1);
    let gguf: Vec<_> = with(".gguf").into_iter().filter(is_first).collect();
    let files = with(".safetensors");
    match (&*indexes, &*files, &*gguf) {
        ([_], ..) => Ok(indexes),
        ([], [_, ..], _) => all_parts(files),
        ([], [], [one]) => Ok(parts(one)),
        ([one, two, ..], ..) | ([], [], [one, two, ..]) => {
            let text = format!(
                "there are several models in this directory, such as {} and {}; name one of them",
                shown(one),
                shown(two)
            );
            Err(Error::new(directory, Fault::new(text)))
        }
        ([], [], []) => {
            let text = "there is no *.safetensors and no *.gguf in this directory";
            Err(opening(directory, io::Error::new(io::ErrorKind::NotFound, text)))
        }
    }
}

/// The files, in the order of their names, if no name says that there is one more.
fn all_parts(files: Vec<PathBuf>) -> Result<Vec<PathBuf>, Error> {
    const END: &str = ".safetensors";
    let mut seen = BTreeSet::new();
    for path in &files {
        let Some((name, _, count)) = part(path, END) else { continue };
        if !seen.insert((name, count)) {
            continue;
        }
        let file = |no: u64| path.with_file_name(format!("{name}-{no:05}-of-{count:05}{END}"));
        if let Some(missing) = (1..=count).map(file).find(|it| files.binary_search(it).is_err()) {
            let text = format!(
                "this is a part of {count}, and {} is not there; name this file itself for its tensors alone",
                shown(&missing)
            );
            return Err(Error::new(path, Fault::new(text)));
        }
    }
    Ok(files)
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
        return Err(failed(Fault::new(text)));
    }
    let object = json::object(&text, "the index").map_err(failed)?;
    let weights = object.iter().find(|(key, _)| key == "weight_map").map(|(_, value)| value);
    let Some(Value::Object(weights)) = weights else {
        return Err(failed(Fault::new("this is not the index of a model: it has no weight_map")));
    };
    let mut shards: Vec<(&str, BTreeSet<&str>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (name, shard) in weights {
        let plain = |it: &&str| Path::new(it).file_name().is_some_and(|name| name == *it);
        let Some(file) = shard.as_str().filter(plain) else {
            let (shown, shard) = (short(name), short(&shard.to_string()));
            let text = format!(
                "tensor '{shown}' is in {shard}, which is not the name of a file next to the index"
            );
            return Err(failed(Fault::of(name, text)));
        };
        let place = *places.entry(file).or_insert_with(|| {
            shards.push((file, BTreeSet::new()));
            shards.len() - 1
        });
        shards[place].1.insert(name);
    }
    shards.sort();
    let mut files = Vec::new();
    for (shard, expected) in shards {
        let file = ModelFile::open(&index.with_file_name(shard))?;
        let found: BTreeSet<&str> = file.tensors.iter().map(|it| &*it.name).collect();
        for (more, fewer, text) in [
            (&expected, &found, "the index says that tensor '{}' is in this file, and it is not"),
            (&found, &expected, "tensor '{}' is in this file, and the index does not say so"),
        ] {
            if let Some(name) = more.difference(fewer).next() {
                let fault = Fault::of(name, text.replace("{}", &short(name)));
                return Err(Error::new(&file.path, fault));
            }
        }
        files.push(file);
    }
    Ok(files)
}
