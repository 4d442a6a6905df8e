//! Items of the features `rayon`, `mmap`, `serde` and `zeroize`.

use super::blake3;
use crate::{Log, TempFile, pattern};
use blake3::{Hash, Hasher};
use std::path::Path;
use zeroize::Zeroize;

pub(super) fn run(log: &mut Log, name: &str) {
    threads(log);
    mapping(log, name);
    serialization(log);
    wiping(log);
}

fn threads(log: &mut Log) {
    const ITEM: &str = "fn Hasher::update_rayon";
    for len in [0, 1, 1025, 100_000, 1 << 20, (3 << 20) + 1] {
        let mut hasher = Hasher::new_keyed(&[8; 32]);
        hasher.update_rayon(&pattern(len)).update_rayon(b"x");
        log.see(ITEM, (hasher.finalize(), hasher.count()));
    }
    // In a pool of the caller's own.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let input = pattern(1 << 20);
    log.see(ITEM, pool.install(|| Hasher::new().update_rayon(&input).finalize()));
}

fn mapping(log: &mut Log, name: &str) {
    for len in [0, 1, 128 * 1024 - 1, 128 * 1024, 300_001, 5_000_000] {
        let file = TempFile::new(len, name);
        let path: &Path = &file.0;
        let mut hasher = Hasher::new();
        hasher.update_mmap(path).unwrap().update_mmap(file.0.clone()).unwrap();
        log.see("fn Hasher::update_mmap", (hasher.finalize(), hasher.count()));
        let mut hasher = Hasher::new();
        hasher.update_mmap_rayon(path).unwrap().update_mmap_rayon(path.to_str().unwrap()).unwrap();
        log.see("fn Hasher::update_mmap_rayon", (hasher.finalize(), hasher.count()));
    }
    for path in ["/no such file", "."] {
        // Whether a directory fails at opening or at reading is the system's matter.
        let error = Hasher::new().update_mmap(path).err().map(|error| error.kind());
        log.see("fn Hasher::update_mmap", (path, error));
        let error = Hasher::new().update_mmap_rayon(path).err().map(|error| error.kind());
        log.see("fn Hasher::update_mmap_rayon", (path, error));
    }
}

fn serialization(log: &mut Log) {
    let hash = Hash::from([0xfe; 32]);
    let json = serde_json::to_string(&hash).unwrap();
    let mut cbor = Vec::new();
    ciborium::into_writer(&hash, &mut cbor).unwrap();
    let ron = ron::to_string(&hash).unwrap();
    log.see("impl serde::Serialize for Hash", (&json, &cbor, &ron));
    let names = ron::ser::PrettyConfig::new().struct_names(true).compact_arrays(true);
    let named = ron::ser::to_string_pretty(&hash, names).unwrap();
    log.see("impl serde::Serialize for Hash", &named);
    for text in [&ron, &named, &json, "Hash(1)", "Hash((1))", "()", "\"fe\"", "b\"fe\""] {
        log.see("impl serde::Deserialize for Hash", ron::from_str::<Hash>(text).ok());
    }

    let read = |text: &str| serde_json::from_str::<Hash>(text).map_err(|error| error.classify());
    let short = serde_json::to_string(&[1; 31]).unwrap();
    let long = serde_json::to_string(&vec![1; 33]).unwrap();
    for text in [&json, &short, &long, "[]", "[256]", "\"fe\"", "{}", "1", "null"] {
        log.see("impl serde::Deserialize for Hash", read(text));
    }
    // A string of bytes, which version 1.5.2 wrote, is still read where the format distinguishes them.
    let bytes = [&[0x58, 0x20][..], &[0xfe; 32]].concat();
    for cbor in [&cbor[..], &bytes, &bytes[..20]] {
        let read = ciborium::from_reader::<Hash, _>(cbor).ok();
        log.see("impl serde::Deserialize for Hash", read);
    }
}

fn wiping(log: &mut Log) {
    let mut hash = Hash::from([7; 32]);
    hash.zeroize();
    log.see("impl Zeroize for Hash", hash);

    // A wiped hasher or reader holds no earlier content. Its further results are not
    // specified, so nothing more is asked of it than that it counts from zero.
    let mut hasher = Hasher::new_keyed(&[7; 32]);
    hasher.update(&pattern(5000));
    let mut reader = hasher.finalize_xof();
    reader.set_position(1000);
    hasher.zeroize();
    reader.zeroize();
    log.see("impl Zeroize for Hasher", hasher.count());
    log.see("impl Zeroize for OutputReader", reader.position());
}
