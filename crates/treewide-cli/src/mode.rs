//! Which of BLAKE3's three modes to hash in: plain, keyed, or derive-key.

use crate::device;
use crate::input::Input;
use anyhow::{Context, bail};
use clap::Args;
use std::io::{Read, stdin};
use treewide::{Batch, Hasher, KEY_LEN};

#[derive(Args)]
#[command(next_help_heading = "Digest")]
pub(crate) struct ModeArgs {
    /// Use the keyed mode, reading the 32-byte key from standard input
    ///
    /// The key is 32 raw bytes, neither hex nor followed by a newline. Since it takes standard
    /// input, FILE has to be given and cannot be `-`.
    #[arg(long, requires = "file")]
    keyed: bool,

    /// Use the key derivation mode, with the given context string
    ///
    /// Cannot be used with --keyed.
    #[arg(long, value_name = "CONTEXT", conflicts_with = "keyed")]
    derive_key: Option<String>,
}

impl ModeArgs {
    /// In keyed mode, this reads the key.
    pub(crate) fn mode(&self, input: &mut Input<'_>) -> anyhow::Result<Mode> {
        if self.keyed {
            input.claim_stdin("the key")?;
            let key = read_key()?;
            let (hasher, batch) =
                (Hasher::new_keyed(&key), Batch::with_mode(treewide::Mode::keyed(&key)));
            Ok(Mode { hasher, batch, device: device::Mode::keyed(&key) })
        } else if let Some(context) = &self.derive_key {
            let (hasher, batch) = (
                Hasher::new_derive_key(context),
                Batch::with_mode(treewide::Mode::derive_key(context)),
            );
            Ok(Mode { hasher, batch, device: device::Mode::derive_key(context) })
        } else {
            Ok(Mode::plain())
        }
    }
}

/// One of the modes, for one input and for many.
#[derive(Clone)]
pub(crate) struct Mode {
    /// It has absorbed nothing.
    pub(crate) hasher: Hasher,
    pub(crate) batch: Batch,
    pub(crate) device: device::Mode,
}

impl Mode {
    pub(crate) fn plain() -> Self {
        Self { hasher: Hasher::new(), batch: Batch::new(), device: device::Mode::PLAIN }
    }
}

fn read_key() -> anyhow::Result<[u8; KEY_LEN]> {
    // One byte more than a key, so that a key followed by a newline is told from a key.
    let mut bytes = Vec::with_capacity(KEY_LEN + 1);
    stdin()
        .lock()
        .take(KEY_LEN as u64 + 1)
        .read_to_end(&mut bytes)
        .context("cannot read the key from standard input")?;
    match <[u8; KEY_LEN]>::try_from(bytes) {
        Ok(key) => Ok(key),
        Err(bytes) if bytes.len() < KEY_LEN => {
            bail!("expected {KEY_LEN} key bytes from standard input, found {}", bytes.len())
        }
        Err(_) => bail!("more than {KEY_LEN} key bytes on standard input (a newline, perhaps?)"),
    }
}
