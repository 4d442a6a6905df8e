//! Ends `tune` after a fixed time, even if a measurement never ends.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::{cli, command, interrupt};

/// The advice as far as it is known, which a thread writes when the time is over.
pub(super) struct Limit(Arc<Mutex<String>>);

impl Limit {
    /// Begins, with advice that says nothing yet.
    pub(super) fn start(args: &cli::Tune, advice: &str) -> Result<Self> {
        let known = Arc::new(Mutex::new(advice.to_owned()));
        if let Some(seconds) = args.at_most {
            let (known, output) = (known.clone(), args.output.clone());
            let over = move || {
                std::thread::sleep(Duration::from_secs(seconds));
                // The lock is kept: otherwise the measuring thread would go on.
                let known = lock(&known);
                let over =
                    format!("{known}# After {seconds} seconds there was no time for more.\n");
                let advice = super::with_json(&over);
                let written = output.as_deref().map_or(Ok(()), |it| command::write(it, &advice));
                let message = match &written {
                    Ok(()) => {
                        format!("stopped after {seconds} seconds, as was asked for\n{advice}")
                    }
                    Err(error) => format!("{error:#}"),
                };
                eprintln!("treewide-bench: {message}");
                interrupt::exit(if written.is_ok() { 0 } else { 2 });
            };
            std::thread::Builder::new().spawn(over).context("cannot start a thread")?;
        }
        Ok(Self(known))
    }

    /// The advice says more by now.
    pub(super) fn found(&self, advice: &str) {
        advice.clone_into(&mut lock(&self.0));
    }

    /// All is known: no end but that of the program, while the result lives.
    pub(super) fn end(&self) -> MutexGuard<'_, String> {
        lock(&self.0)
    }
}

fn lock(advice: &Mutex<String>) -> MutexGuard<'_, String> {
    advice.lock().unwrap_or_else(PoisonError::into_inner)
}
