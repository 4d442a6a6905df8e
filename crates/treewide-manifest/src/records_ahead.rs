//! The records of a manifest, read on a thread of its own, some ahead of what is done with them.
//!
//! Where two manifests are compared, reading them is most of the work. Records go to and fro in batches, so that the memory of
//! their names is used again.

use crate::error::{Error, ErrorKind};
use crate::manifest::Records;
use crate::record::Record;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

/// Records that are handed over at a time.
const BATCH: usize = 256;
/// Batches that are ready, at most.
const READY: usize = 4;

/// The records of a manifest.
pub(crate) struct RecordsAhead {
    batches: Receiver<Batch>,
    used: Sender<Batch>,
    batch: Batch,
    at: usize,
}

#[derive(Default)]
struct Batch {
    /// The first `len` of them count.
    records: Vec<Record>,
    len: usize,
    /// After the last record: what is wrong with the index, or why reading ended.
    end: Option<Result<Option<String>, Error>>,
}

impl RecordsAhead {
    /// Reads `records` on a thread of its own, which ends soon after this is dropped.
    pub(crate) fn new(records: Records) -> Self {
        let (sender, batches) = sync_channel(READY);
        let (used, to_use) = channel();
        // If there is no thread to give, nothing is sent, and `next` says so.
        let _ = std::thread::Builder::new()
            .name("records".into())
            .spawn(move || read(records, &sender, &to_use));
        Self { batches, used, batch: Batch::default(), at: 0 }
    }

    /// The next record. `None` at the end.
    ///
    /// # Errors
    /// As the records.
    pub(crate) fn next(&mut self) -> Result<Option<&Record>, Error> {
        while self.at >= self.batch.len {
            match &mut self.batch.end {
                Some(Ok(_)) => return Ok(None),
                Some(end @ Err(_)) => {
                    return match std::mem::replace(end, Ok(None)) {
                        Err(error) => Err(error),
                        Ok(_) => Ok(None),
                    };
                }
                None => {}
            }
            let Ok(next) = self.batches.recv() else {
                let cause = "the system has no thread for reading it; run it again".into();
                return Err(Error::new("", ErrorKind::List(cause)));
            };
            // The thread may have ended.
            let _ = self.used.send(std::mem::replace(&mut self.batch, next));
            self.at = 0;
        }
        self.at += 1;
        Ok(Some(&self.batch.records[self.at - 1]))
    }

    /// What [`next`](Self::next) returned last.
    pub(crate) fn last(&self) -> &Record {
        &self.batch.records[self.at - 1]
    }

    /// What is wrong with the index. It is known at the end.
    pub(crate) fn damage(&self) -> Option<&str> {
        match &self.batch.end {
            Some(Ok(damage)) => damage.as_deref(),
            _ => None,
        }
    }
}

fn read(mut records: Records, to: &SyncSender<Batch>, to_use: &Receiver<Batch>) {
    loop {
        let mut batch = to_use.try_recv().unwrap_or_default();
        (batch.len, batch.end) = (0, None);
        while batch.len < BATCH && batch.end.is_none() {
            if batch.len == batch.records.len() {
                batch.records.push(Record::empty());
            }
            match records.next_into(&mut batch.records[batch.len]) {
                Ok(true) => batch.len += 1,
                Ok(false) => batch.end = Some(Ok(records.damage().map(str::to_owned))),
                Err(error) => batch.end = Some(Err(error)),
            }
        }
        let is_over = batch.end.is_some();
        if to.send(batch).is_err() || is_over {
            return;
        }
    }
}
