//! Writes a journal, on a thread of its own.

use super::{Check, Header, lock};
use crate::format::index::lines::push_record;
use crate::format::record::Record;
use crate::format::regular;
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use treewide::Hasher;

/// What was read is written this often, or when there are this many records.
const WRITTEN_EVERY: Duration = Duration::from_secs(1);
const WRITTEN_AT: usize = 4096;
/// Records that wait for a slow disk, at most: the files of others are read again.
const MOST_WAITING: usize = 16 * WRITTEN_AT;
/// What was written is brought to the disk this often.
const SYNCED_EVERY: Duration = Duration::from_secs(5);

/// The thread, and what it shares.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
pub(super) struct Shared {
    state: Mutex<State>,
    /// There is enough to write, or nothing more comes.
    changed: Condvar,
    /// Whether the file at the path is that of this run.
    pub(super) has_file: AtomicBool,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) waiting: Vec<Record>,
    is_over: bool,
}

impl Shared {
    pub(super) fn add(&self, record: Record) {
        let mut state = self.state();
        // The thread takes nothing any more if it could not write.
        if !state.is_over && state.waiting.len() < MOST_WAITING {
            state.waiting.push(record);
            if state.waiting.len() == WRITTEN_AT {
                self.changed.notify_all();
            }
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) enum Place {
    /// The file is created when there is something to write, and is no more readable than the list.
    New(PathBuf, Option<Box<Metadata>>),
    Open(File),
}

impl Writer {
    /// `None` if there is no thread to give: then there is no journal.
    pub(super) fn start(
        place: Place,
        header: &Header,
        hasher: Hasher,
        from: Duration,
    ) -> Option<Self> {
        let shared = Arc::new(Shared::default());
        shared.has_file.store(matches!(place, Place::Open(_)), Ordering::Relaxed);
        let header = serde_json::to_string(header).ok()? + "\n";
        let writing = Writing { place, header: Some(header), hasher, synced: Instant::now() };
        let thread = std::thread::Builder::new().name("journal".into()).spawn({
            let shared = Arc::clone(&shared);
            move || writing.run(&shared, from)
        });
        Some(Self { shared, thread: Some(thread.ok()?) })
    }
}

impl Drop for Writer {
    /// Writes the lines gathered so far.
    fn drop(&mut self) {
        self.shared.state().is_over = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Writing {
    place: Place,
    header: Option<String>,
    hasher: Hasher,
    synced: Instant,
}

impl Writing {
    fn run(mut self, shared: &Shared, from: Duration) {
        let wait = |most, goes_on: fn(&mut State) -> bool| {
            let waited = shared.changed.wait_timeout_while(shared.state(), most, goes_on);
            waited.unwrap_or_else(PoisonError::into_inner).0
        };
        // A shorter run leaves no journal.
        if !from.is_zero() && wait(from, |state| !state.is_over).is_over {
            return;
        }
        loop {
            let mut state = wait(WRITTEN_EVERY, |it| !it.is_over && it.waiting.len() < WRITTEN_AT);
            let (records, is_over) = (std::mem::take(&mut state.waiting), state.is_over);
            drop(state);
            // What cannot be written is read again by the next run. That the disk is full, the manifest itself will say.
            if self.write(&records, shared).is_err() || is_over {
                shared.state().is_over = true;
                return;
            }
        }
    }

    fn write(&mut self, records: &[Record], shared: &Shared) -> io::Result<()> {
        let (mut block, mut day) = (Vec::new(), None);
        // A file without a key would be read again.
        for record in records.iter().filter(|it| it.facts().is_some_and(|it| it.key.is_some())) {
            push_record(&mut block, record, true, &mut day);
            block.extend_from_slice(b"}\n");
        }
        if block.is_empty() {
            return Ok(());
        }
        if let Some(header) = self.header.take() {
            block.splice(..0, header.into_bytes());
        }
        if let Place::New(path, list) = &self.place {
            let file = regular::create_next_to(path, list.as_deref())?;
            lock(&file)?;
            shared.has_file.store(true, Ordering::Relaxed);
            self.place = Place::Open(file);
        }
        let Place::Open(file) = &mut self.place else { return Ok(()) };
        self.hasher.update(&block);
        let check = Check { check: self.hasher.finalize().to_hex().to_string() };
        let start = block.len();
        serde_json::to_writer(&mut block, &check)?;
        block.push(b'\n');
        self.hasher.update(&block[start..]);
        file.write_all(&block)?;
        if self.synced.elapsed() >= SYNCED_EVERY {
            self.synced = Instant::now();
            file.sync_data()?;
        }
        Ok(())
    }
}
