//! Small files of safetensors and GGUF, as tests write them.

#![allow(dead_code, reason = "each test file uses a part")]

use std::path::{Path, PathBuf};

/// A safetensors file with this header.
pub(crate) fn with_header(header: impl AsRef<[u8]>, data: impl AsRef<[u8]>) -> Vec<u8> {
    let header = header.as_ref();
    [&(header.len() as u64).to_le_bytes()[..], header, data.as_ref()].concat()
}

/// A safetensors file of tensors, one after the other: name, type, shape and bytes.
pub(crate) fn safetensors(tensors: &[(&str, &str, &[u64], &[u8])]) -> Vec<u8> {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for (name, dtype, shape, bytes) in tensors {
        let offsets = [data.len(), data.len() + bytes.len()];
        data.extend_from_slice(bytes);
        let info = serde_json::json!({"dtype": dtype, "shape": shape, "data_offsets": offsets});
        header.insert((*name).to_owned(), info);
    }
    with_header(serde_json::to_vec(&header).unwrap(), data)
}

/// Name, shape with the fastest dimension first, type, offset.
pub(crate) type Info = (Vec<u8>, Vec<u64>, u32, u64);

/// A GGUF file, field by field.
#[derive(Clone)]
pub(crate) struct Gguf {
    pub(crate) magic: [u8; 4],
    pub(crate) version: u32,
    pub(crate) tensors: Option<u64>,
    pub(crate) keys: Option<u64>,
    /// Name, type of the value, value.
    pub(crate) pairs: Vec<(Vec<u8>, u32, Vec<u8>)>,
    pub(crate) infos: Vec<Info>,
    pub(crate) alignment: usize,
    pub(crate) data: Vec<u8>,
}

pub(crate) fn text(text: impl AsRef<[u8]>) -> Vec<u8> {
    let text = text.as_ref();
    [&(text.len() as u64).to_le_bytes()[..], text].concat()
}

impl Gguf {
    /// A file of tensors: name, type, shape, bytes.
    pub(crate) fn new(tensors: &[(&str, u32, &[u64], &[u8])]) -> Self {
        let mut file = Self {
            magic: *b"GGUF",
            version: 3,
            tensors: None,
            keys: None,
            pairs: vec![
                (b"general.architecture".to_vec(), 8, text("test")),
                (
                    b"tokens".to_vec(),
                    9,
                    [&8_u32.to_le_bytes()[..], &2_u64.to_le_bytes(), &text("a"), &text("bc")]
                        .concat(),
                ),
                (
                    b"scores".to_vec(),
                    9,
                    [&6_u32.to_le_bytes()[..], &3_u64.to_le_bytes(), &[0; 12]].concat(),
                ),
                (
                    b"lists".to_vec(),
                    9,
                    [
                        &9_u32.to_le_bytes()[..],
                        &1_u64.to_le_bytes(),
                        &0_u32.to_le_bytes(),
                        &2_u64.to_le_bytes(),
                        &[1, 2],
                    ]
                    .concat(),
                ),
            ],
            infos: Vec::new(),
            alignment: 32,
            data: Vec::new(),
        };
        for (name, dtype, shape, bytes) in tensors {
            let at = file.data.len().next_multiple_of(32);
            file.data.resize(at, 0);
            file.data.extend_from_slice(bytes);
            file.infos.push((name.as_bytes().to_vec(), shape.to_vec(), *dtype, at as u64));
        }
        file
    }

    pub(crate) fn key(mut self, name: &str, kind: u32, value: &[u8]) -> Self {
        self.pairs.push((name.as_bytes().to_vec(), kind, value.to_vec()));
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut file = [&self.magic[..], &self.version.to_le_bytes()].concat();
        file.extend(self.tensors.unwrap_or(self.infos.len() as u64).to_le_bytes());
        file.extend(self.keys.unwrap_or(self.pairs.len() as u64).to_le_bytes());
        for (name, kind, value) in &self.pairs {
            file.extend([&text(name)[..], &kind.to_le_bytes(), value].concat());
        }
        for (name, shape, kind, offset) in &self.infos {
            file.extend(text(name));
            file.extend((shape.len() as u32).to_le_bytes());
            file.extend(shape.iter().flat_map(|size| size.to_le_bytes()));
            file.extend(kind.to_le_bytes());
            file.extend(offset.to_le_bytes());
        }
        file.resize(file.len().next_multiple_of(self.alignment), 0);
        file.extend(&self.data);
        file
    }
}

/// Writes a file into a folder.
pub(crate) fn write(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}
