//! Sorts byte strings, on disk if they do not fit into memory.
//!
//! The libraries for this (`extsort`, `ext-sort`) keep each record on the heap and count records, not bytes. Records here
//! have the length of a name, so a bound in bytes is needed, and one block for all of them takes a third of the memory.

use crate::error::Error;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

/// Bytes of records in memory, at most. A guess: with the names of all sorts at once, a run needs three times as many.
const IN_MEMORY: usize = 512 << 20;

/// Bytes that are read or written at a time, of each file.
const BUFFER: usize = 256 << 10;

/// Byte strings to sort.
#[derive(Debug)]
pub(crate) struct Sorter {
    most: usize,
    bytes: Vec<u8>,
    places: Vec<Place>,
    runs: Vec<File>,
}

/// Where a record is, and its first bytes, by which most comparisons are decided.
#[derive(Debug)]
struct Place {
    begin: u64,
    start: u32,
    len: u32,
}

impl Sorter {
    pub(crate) fn new() -> Self {
        Self::in_memory(IN_MEMORY)
    }

    fn in_memory(most: usize) -> Self {
        Self { most, bytes: Vec::new(), places: Vec::new(), runs: Vec::new() }
    }

    /// Adds the record that these parts are together.
    pub(crate) fn push(&mut self, parts: &[&[u8]]) -> Result<(), Error> {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        let held = self.bytes.len() + self.places.len() * size_of::<Place>();
        if held + len > self.most && !self.places.is_empty() {
            self.write_run()?;
        }
        let start = self.bytes.len();
        parts.iter().for_each(|part| self.bytes.extend_from_slice(part));
        let mut begin = [0; 8];
        let record = &self.bytes[start..];
        begin[..len.min(8)].copy_from_slice(&record[..len.min(8)]);
        let begin = u64::from_be_bytes(begin);
        // A record is a group at most, and its names were in memory.
        let (start, len) = (u32::try_from(start), u32::try_from(len));
        let (Ok(start), Ok(len)) = (start, len) else {
            return Err(failed(io::Error::other("a group of more than 4 GiB of names")));
        };
        self.places.push(Place { begin, start, len });
        Ok(())
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        self.places.sort_unstable_by(|a, b| {
            a.begin.cmp(&b.begin).then_with(|| a.of(bytes).cmp(b.of(bytes)))
        });
    }

    /// Writes what is in memory to a file without a name.
    fn write_run(&mut self) -> Result<(), Error> {
        self.sort();
        let write = || -> io::Result<File> {
            let mut to = BufWriter::with_capacity(BUFFER, tempfile::tempfile()?);
            for place in &self.places {
                to.write_all(&place.len.to_le_bytes())?;
                to.write_all(place.of(&self.bytes))?;
            }
            let mut file = to.into_inner()?;
            file.rewind()?;
            Ok(file)
        };
        let file = write().map_err(failed)?;
        self.runs.push(file);
        self.bytes.clear();
        self.places.clear();
        Ok(())
    }

    /// The records in their order.
    pub(crate) fn finish(mut self) -> Result<Sorted, Error> {
        if self.runs.is_empty() {
            self.sort();
            return Ok(Sorted::Memory { sorter: self, at: 0 });
        }
        self.write_run()?;
        (self.bytes, self.places) = (Vec::new(), Vec::new());
        let runs = self.runs.into_iter().map(|it| BufReader::with_capacity(BUFFER, it));
        let (mut runs, mut heads) = (runs.collect::<Vec<_>>(), BinaryHeap::new());
        for (at, run) in runs.iter_mut().enumerate() {
            let mut record = Vec::new();
            if read(run, &mut record)? {
                heads.push(Reverse((record, at)));
            }
        }
        Ok(Sorted::Files { heads, runs, last: Vec::new() })
    }
}

impl Place {
    fn of<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.start as usize..][..self.len as usize]
    }
}

fn failed(error: io::Error) -> Error {
    Error::write(std::env::temp_dir(), error)
}

/// Reads the next record of a run; `false` at its end.
fn read(run: &mut impl Read, record: &mut Vec<u8>) -> Result<bool, Error> {
    let mut len = [0; 4];
    match run.read_exact(&mut len) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
        read => read.map_err(failed)?,
    }
    record.resize(u32::from_le_bytes(len) as usize, 0);
    run.read_exact(record).map_err(failed)?;
    Ok(true)
}

/// Records in their order.
#[derive(Debug)]
pub(crate) enum Sorted {
    Memory {
        sorter: Sorter,
        at: usize,
    },
    Files {
        /// The next record of each run, and its number.
        heads: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
        runs: Vec<BufReader<File>>,
        last: Vec<u8>,
    },
}

impl Sorted {
    /// The next record. `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, Error> {
        match self {
            Self::Memory { sorter, at } => {
                let place = sorter.places.get(*at);
                *at += 1;
                Ok(place.map(|place| place.of(&sorter.bytes)))
            }
            Self::Files { heads, runs, last } => {
                let Some(mut head) = heads.peek_mut() else { return Ok(None) };
                let Reverse((record, run)) = &mut *head;
                std::mem::swap(last, record);
                if !read(&mut runs[*run], record)? {
                    PeekMut::pop(head);
                }
                Ok(Some(last))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorter_gives_the_same_order_in_memory_and_on_disk() {
        let (mut state, mut records) = (1_u64, Vec::new());
        for _ in 0..3000 {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let len = (state >> 60) as usize;
            records.push(state.to_be_bytes().repeat(2)[..len].to_vec());
        }
        let mut expected = records.clone();
        expected.sort();
        for most in [4096, 60_000, IN_MEMORY] {
            let mut sorter = Sorter::in_memory(most);
            for record in &records {
                let (a, b) = record.split_at(record.len() / 2);
                sorter.push(&[a, b]).unwrap();
            }
            assert_eq!(sorter.runs.is_empty(), most == IN_MEMORY, "{most}");
            let mut sorted = sorter.finish().unwrap();
            let mut found = Vec::new();
            while let Some(record) = sorted.next().unwrap() {
                found.push(record.to_vec());
            }
            assert_eq!(found, expected, "{most}");
        }
    }
}
