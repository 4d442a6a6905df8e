//! Extended output.

use super::blake3;
use super::ordinary;
use crate::{Log, pattern};
use blake3::{Hasher, OutputReader};
use std::io::{Read, Seek, SeekFrom};

pub(super) fn run(log: &mut Log) {
    let _: fn(&mut OutputReader, &mut [u8]) = OutputReader::fill;
    let _: fn(&OutputReader) -> u64 = OutputReader::position;
    let _: fn(&mut OutputReader, u64) = OutputReader::set_position;
    log.see("struct OutputReader", ordinary::<OutputReader>());
    for len in [0, 64, 1024, 1025, 20_000] {
        let mut hasher = Hasher::new();
        hasher.update(&pattern(len));
        filling(log, hasher.finalize_xof());
        reading(log, hasher.finalize_xof());
        seeking(log, hasher.finalize_xof());
    }
    let show = |key: u8| {
        let mut reader = Hasher::new_keyed(&[key; 32]).finalize_xof();
        reader.set_position(77);
        format!("{reader:?} {reader:#?}")
    };
    log.see("impl fmt::Debug for OutputReader", (show(1) == show(2), show(1)));
}

fn filling(log: &mut Log, mut reader: OutputReader) {
    log.see("fn OutputReader::position", reader.position());
    for len in [0, 1, 31, 32, 33, 63, 64, 65, 127, 128, 1024, 5000] {
        let mut buffer = vec![0xaa; len];
        reader.fill(&mut buffer);
        log.see("fn OutputReader::fill", buffer);
        log.see("fn OutputReader::position", reader.position());
    }
    for place in [0, 1, 63, 64, 65, 1 << 32, (1 << 38) - 1, 1 << 63, u64::MAX - 200] {
        reader.set_position(place);
        let mut buffer = [0; 200];
        let mut clone = reader.clone();
        reader.fill(&mut buffer);
        log.see("fn OutputReader::set_position", (&buffer[..], reader.position()));
        let mut again = [0; 200];
        clone.fill(&mut again);
        log.see("impl Clone for OutputReader", (again == buffer, clone.position()));
    }
}

fn reading(log: &mut Log, mut reader: OutputReader) {
    const ITEM: &str = "impl std::io::Read for OutputReader";
    let mut buffer = [0; 300];
    log.see(ITEM, (reader.read(&mut buffer).unwrap(), &buffer[..]));
    log.see(ITEM, (reader.read(&mut []).unwrap(), reader.position()));
    reader.read_exact(&mut buffer).unwrap();
    log.see(ITEM, (&buffer[..], reader.position()));
    let mut taken = Vec::new();
    (&mut reader).take(1000).read_to_end(&mut taken).unwrap();
    log.see(ITEM, (taken, reader.position()));
}

fn seeking(log: &mut Log, mut reader: OutputReader) {
    for seek in [
        SeekFrom::Start(100),
        SeekFrom::Current(-30),
        SeekFrom::Current(0),
        SeekFrom::Current(i64::MAX),
        SeekFrom::Current(-1_000_000),
        SeekFrom::Start(5),
        SeekFrom::Current(-6),
        SeekFrom::Current(i64::MIN),
        SeekFrom::End(0),
        SeekFrom::End(-1),
        SeekFrom::Start(u64::MAX),
        SeekFrom::Current(i64::MAX), // beyond the end: stays at the end
        SeekFrom::Current(-64),
    ] {
        let result = reader.seek(seek).map_err(|error| (error.kind(), error.to_string()));
        log.see("impl std::io::Seek for OutputReader", (seek, result, reader.position()));
    }
    log.see("impl std::io::Seek for OutputReader", reader.stream_position().unwrap());
    reader.rewind().unwrap();
    let mut buffer = [0; 100];
    reader.fill(&mut buffer);
    log.see("impl std::io::Seek for OutputReader", buffer);
}
