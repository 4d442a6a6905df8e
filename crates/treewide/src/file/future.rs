//! Hashing as a future, for any runtime.

use std::future::Future;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::device;
use super::error::{Error, ErrorKind};
use super::options::Options;
use super::report::Hashed;
use crate::hasher::Hasher;

/// Stops the threads when the future is dropped.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Options<'static> {
    /// Hashes as [`hash`](Options::hash), as a future for any runtime. Files are read on a thread of the `blocking` crate,
    /// with the help of the global rayon pool.
    ///
    /// Nothing happens before the future is polled. Dropping it stops the hashing after at most one tile of each
    /// thread, or 20 ms if a pipe has nothing to read.
    ///
    /// ```
    /// # use treewide::file::Options;
    /// # async fn example() -> Result<(), treewide::file::Error> {
    /// let hashed = Options::new().hash_async("large.iso").await?;
    /// println!("{}", hashed.hash());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`hash`](Options::hash).
    pub fn hash_async(
        &self,
        path: impl Into<PathBuf>,
    ) -> impl Future<Output = Result<Hashed, Error>> + Send + 'static {
        let (options, path) = (self.clone(), path.into());
        async move {
            let stop = StopOnDrop(Arc::default());
            let stopped = Arc::clone(&stop.0);
            let hashed = blocking::unblock(move || {
                let asked = options.watch.clone();
                let watch = |bytes| match &asked {
                    _ if stopped.load(Ordering::Relaxed) => ControlFlow::Break(()),
                    Some(watch) => watch(bytes),
                    None => ControlFlow::Continue(()),
                };
                let options = options.watch(watch);
                let file = device::open(&path, false, true)
                    .map_err(|error| Error::new(&path, ErrorKind::Open(error)))?;
                let mut hasher = Hasher::with_mode(options.mode);
                let report = options.update_file(&mut hasher, &file, &path)?;
                Ok(Hashed { hasher, report })
            });
            let hashed = hashed.await;
            drop(stop);
            hashed
        }
    }
}
