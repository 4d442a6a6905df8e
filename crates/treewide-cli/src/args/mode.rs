//! The flags that choose one of BLAKE3's three modes: plain, keyed, or derive-key.

use crate::shell::stdin::Stdin;
use anyhow::{Context, bail};
use clap::Args;
use std::io::Read;
use treewide::{KEY_LEN, Mode};

#[derive(Args)]
#[command(next_help_heading = "Digest")]
pub(crate) struct ModeArgs {
    /// Use the keyed mode, reading the 32-byte key from standard input
    ///
    /// The key is 32 raw bytes, neither hex nor followed by a newline. Since it takes standard
    /// input, FILE must be given and cannot be `-`.
    #[arg(long, requires = "file")]
    keyed: bool,

    /// Use the key derivation mode, with the given context string
    ///
    /// Cannot be used with --keyed.
    #[arg(long, value_name = "CONTEXT", conflicts_with = "keyed")]
    derive_key: Option<String>,
}

impl ModeArgs {
    /// How digests may have been made that are not of this mode.
    pub(crate) fn others(&self) -> &'static str {
        if self.keyed {
            "with another key, or without --keyed"
        } else if self.derive_key.is_some() {
            "with another context, or without --derive-key"
        } else {
            "with --keyed or --derive-key"
        }
    }

    /// Whether another mode than the plain one was asked for.
    pub(crate) fn is_chosen(&self) -> bool {
        self.keyed || self.derive_key.is_some()
    }

    /// In keyed mode, this reads the key.
    pub(crate) fn mode(&self, stdin: &Stdin) -> anyhow::Result<Mode> {
        if self.keyed {
            let stdin = stdin.claim("the key").context(KEY)?;
            Ok(Mode::keyed(&read_key(stdin)?))
        } else if let Some(context) = &self.derive_key {
            Ok(Mode::derive_key(context))
        } else {
            Ok(Mode::PLAIN)
        }
    }
}

/// What has failed if there is no key.
const KEY: &str = "cannot read the key from standard input";

fn read_key(stdin: impl Read) -> anyhow::Result<[u8; KEY_LEN]> {
    // One byte more than a key, which distinguishes a key from a key followed by a newline.
    let mut bytes = Vec::with_capacity(KEY_LEN + 1);
    stdin.take(KEY_LEN as u64 + 1).read_to_end(&mut bytes).context(KEY)?;
    match <[u8; KEY_LEN]>::try_from(bytes) {
        Ok(key) => Ok(key),
        Err(bytes) if bytes.len() < KEY_LEN => {
            bail!("expected {KEY_LEN} key bytes from standard input, found {}", bytes.len())
        }
        Err(_) => bail!("more than {KEY_LEN} key bytes on standard input (a newline, perhaps?)"),
    }
}
