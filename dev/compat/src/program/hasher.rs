//! The incremental hasher.

use super::blake3;
use super::ordinary;
use crate::{Log, TempFile, pattern};
use blake3::{Hash, Hasher, OutputReader};
use std::io::{self, Read, Write};

pub(super) fn run(log: &mut Log) {
    signatures();
    log.see("struct Hasher", ordinary::<Hasher>());
    let input = pattern(70_001);
    hashing(log, &input);
    resetting(log, &input);
    reading(log, &input);
    showing(log);
}

/// The methods as values, which fixes what they take and return.
fn signatures() {
    let _: fn() -> Hasher = Hasher::new;
    let _: fn(&[u8; 32]) -> Hasher = Hasher::new_keyed;
    let _: fn(&str) -> Hasher = Hasher::new_derive_key;
    let _: fn(&mut Hasher) -> &mut Hasher = Hasher::reset;
    let _: for<'a> fn(&'a mut Hasher, &[u8]) -> &'a mut Hasher = Hasher::update;
    let _: fn(&Hasher) -> Hash = Hasher::finalize;
    let _: fn(&Hasher) -> OutputReader = Hasher::finalize_xof;
    let _: fn(&Hasher) -> u64 = Hasher::count;
    let _: for<'a> fn(&'a mut Hasher, io::Empty) -> io::Result<&'a mut Hasher> =
        Hasher::update_reader;
    let _: for<'a> fn(&'a mut Hasher, &[u8]) -> &'a mut Hasher = Hasher::update_rayon;
    let _: for<'a> fn(&'a mut Hasher, &'static str) -> io::Result<&'a mut Hasher> =
        Hasher::update_mmap;
    let _: for<'a> fn(&'a mut Hasher, &'static str) -> io::Result<&'a mut Hasher> =
        Hasher::update_mmap_rayon;
}

fn hashing(log: &mut Log, input: &[u8]) {
    let mut hasher = Hasher::new();
    log.see("fn Hasher::new", hasher.finalize());
    for piece in [0, 1, 63, 64, 1, 895, 1, 1024, 2048, 5000, 10_000] {
        hasher.update(&input[..piece]).update(&input[..piece / 2]);
        log.see("fn Hasher::update", hasher.finalize());
        log.see("fn Hasher::finalize", hasher.finalize() == hasher.finalize());
        log.see("fn Hasher::count", hasher.count());
        let mut output = [0; 131];
        hasher.finalize_xof().fill(&mut output);
        log.see("fn Hasher::finalize_xof", output);
    }
    let mut clone = hasher.clone();
    clone.update(b"more");
    log.see("impl Clone for Hasher", (clone.finalize(), hasher.finalize(), clone.count()));
    log.see("impl Default for Hasher", Hasher::default().update(b"x").finalize());
    log.see("fn Hasher::new_keyed", Hasher::new_keyed(&[3; 32]).update(input).finalize());
    log.see("fn Hasher::new_derive_key", Hasher::new_derive_key("ctx").update(input).finalize());
    log.see("fn Hasher::new_derive_key", Hasher::new_derive_key("").finalize());

    let mut hasher = Hasher::new();
    let sink: &mut dyn Write = &mut hasher;
    let written = (sink.write(input).unwrap(), sink.write(b"").unwrap());
    sink.write_all(b"all").unwrap();
    write!(sink, "and {} formats", 2).unwrap();
    sink.flush().unwrap();
    log.see("impl std::io::Write for Hasher", (written, hasher.finalize(), hasher.count()));
    let copied = io::copy(&mut &input[..], &mut hasher).unwrap();
    log.see("impl std::io::Write for Hasher", (copied, hasher.finalize()));
}

fn resetting(log: &mut Log, input: &[u8]) {
    for mut hasher in [Hasher::new(), Hasher::new_keyed(&[5; 32]), Hasher::new_derive_key("r")] {
        hasher.update(input);
        hasher.reset();
        log.see("fn Hasher::reset", (hasher.count(), hasher.finalize()));
        log.see("fn Hasher::reset", hasher.update(b"x").reset().update(input).finalize());
    }
}

fn reading(log: &mut Log, input: &[u8]) {
    const ITEM: &str = "fn Hasher::update_reader";
    log.see(ITEM, Hasher::new().update_reader(input).unwrap().finalize());
    let file = TempFile::new(70_001, "reader");
    let open = std::fs::File::open(&file.0).unwrap();
    log.see(ITEM, Hasher::new().update_reader(&open).unwrap().finalize());
    log.see(ITEM, Hasher::new().update_reader(open).unwrap().finalize()); // at its end by now
    log.see(ITEM, Hasher::new().update_reader(&mut io::empty()).unwrap().count());

    // Interruptions are tried again; other errors come out, and what was read before them counts.
    let mut hasher = Hasher::new();
    let mut reader = Faulty { left: input, calls: 0 };
    let error = hasher.update_reader(&mut reader).unwrap_err();
    log.see(ITEM, (error.kind(), error.to_string(), hasher.count(), hasher.finalize()));
}

/// Hands out a hundred bytes at a time, is interrupted every third time, and breaks in the end.
struct Faulty<'a> {
    left: &'a [u8],
    calls: usize,
}

impl Read for Faulty<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.calls += 1;
        if self.calls.is_multiple_of(3) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if self.left.is_empty() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the reader broke"));
        }
        let take = self.left.len().min(100).min(buffer.len());
        buffer[..take].copy_from_slice(&self.left[..take]);
        self.left = &self.left[take..];
        Ok(take)
    }
}

fn showing(log: &mut Log) {
    // The text names the implementation and may differ; that it hides the secrets may not.
    let show = |key: u8, input: u8| {
        let mut hasher = Hasher::new_keyed(&[key; 32]);
        hasher.update(&[input; 3000]);
        format!("{hasher:?} {hasher:#?}")
    };
    log.see(
        "impl fmt::Debug for Hasher",
        (show(1, 2) == show(3, 4), show(1, 2).contains("Hasher")),
    );
}
