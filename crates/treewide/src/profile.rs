//! Choices that were measured on this machine and replace the defaults.
//!
//! `treewide-bench tune` measures where other choices become faster, and writes them to a file. The environment
//! variable `TREEWIDE_PROFILE` names the file. It is read once, at the first use. It changes how fast hashing
//! is, never the result. Without it the choices are the ones measured on the machines in `results/`.
//!
//! ```text
//! # Written by treewide-bench tune.
//! kernel = "avx2"            # as TREEWIDE_KERNEL, which has priority
//! parallel-from = 262144     # bytes of an input below which one thread does all; or "never"
//! batch-task = 131072        # bytes of a batch below which it is not split among threads; or "never"
//! file-from = 1048576        # bytes of a file up to which one thread reads and hashes it; or "never"
//! file-tile = 524288         # bytes of a file that a thread reads and hashes at a time: a power of two
//!                            # from 65536 to 4194304
//! gpu-staged-from = 8388608  # bytes in ordinary memory below which no GPU is tried; or "never"
//! gpu-wrapped-from = "never" # the same, for memory that is pinned where it lies
//! gpu-file-from = 67108864   # bytes of a file below which no GPU is tried; or "never"
//! ```
//!
//! A line is a name and a value; `#` begins a comment. A name that is left out keeps the default. One profile
//! serves all programs of a machine: a program ignores the names that it does not use.
//!
//! A file that cannot be read, or that has a wrong line, is ignored as a whole. If only the kernel is one that this
//! build does not have or this CPU cannot run, only the kernel is ignored: programs of 32 and of 64 bits share the
//! profile of their machine. [`explain`](crate::explain()) names what is ignored, and
//! [`check_environment`](crate::check_environment) makes it an error.

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The environment variable that names the file.
const VARIABLE: &str = "TREEWIDE_PROFILE";

/// The most bytes of a profile. A profile has a few hundred; a file that the variable names by mistake may have any
/// length, or no end.
const LONGEST: usize = 1 << 20;

/// The allowed bytes of a tile. Shorter tiles have too much overhead each (`results/zen5-2vcpu/files.md#tiles`), and each
/// thread has a buffer of one tile.
pub(crate) const TILES: RangeInclusive<usize> = 64 << 10..=4 << 20;

/// What a file chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(dead_code, reason = "files have no choices of their own")]
pub(crate) struct Profile {
    /// The place where it stands, and the name; this module does not know which there are.
    pub(crate) kernel: Option<(String, String)>,
    pub(crate) parallel_from: Option<usize>,
    pub(crate) batch_task: Option<usize>,
    pub(crate) file_from: Option<usize>,
    pub(crate) file_tile: Option<usize>,
    gpu_staged_from: Option<usize>,
    gpu_wrapped_from: Option<usize>,
    gpu_file_from: Option<usize>,
}

/// The number of bytes from which an open GPU is faster than all threads of the CPU, where the profile states it;
/// `u64::MAX` means never.
///
/// The crate `treewide-gpu` reads it: below these lengths its `auto` leaves all bytes to the CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gpu {
    /// Bytes in ordinary memory, through pinned buffers: `gpu-staged-from`.
    pub staged_from: Option<u64>,
    /// Bytes in ordinary memory that is pinned in place: `gpu-wrapped-from`.
    pub wrapped_from: Option<u64>,
    /// Bytes of a file in the page cache: `gpu-file-from`.
    pub file_from: Option<u64>,
}

/// What the profile states about GPUs; nothing, if there is no usable profile.
pub fn gpu() -> Gpu {
    let it = current();
    let bytes = |from: Option<usize>| from.map(|bytes| u64::try_from(bytes).unwrap_or(u64::MAX));
    Gpu {
        staged_from: bytes(it.gpu_staged_from),
        wrapped_from: bytes(it.gpu_wrapped_from),
        file_from: bytes(it.gpu_file_from),
    }
}

/// What the file chooses; nothing, if there is no usable file.
pub(crate) fn current() -> &'static Profile {
    &loaded().profile
}

/// Why the file that `TREEWIDE_PROFILE` names cannot be used, if so. The text names the file and the line.
pub(crate) fn fault() -> Option<&'static str> {
    loaded().fault.as_deref()
}

/// The file that is in use and what it chooses, as text; `None` without one.
pub(crate) fn in_use() -> Option<&'static str> {
    loaded().in_use.as_deref()
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = [
            ("parallel-from", self.parallel_from),
            ("batch-task", self.batch_task),
            ("file-from", self.file_from),
            ("file-tile", self.file_tile),
            ("gpu-staged-from", self.gpu_staged_from),
            ("gpu-wrapped-from", self.gpu_wrapped_from),
            ("gpu-file-from", self.gpu_file_from),
        ];
        let kernel = self.kernel.iter().map(|(_, name)| format!("kernel {name}"));
        let bytes = bytes.into_iter().filter_map(|(name, bytes)| match bytes? {
            usize::MAX => Some(format!("{name} never")),
            bytes => Some(format!("{name} {bytes}")),
        });
        let all: Vec<String> = kernel.chain(bytes).collect();
        f.write_str(if all.is_empty() { "no choice" } else { "" })?;
        f.write_str(&all.join(", "))
    }
}

/// An empty profile, if there is a fault.
#[derive(Default)]
struct Loaded {
    profile: Profile,
    fault: Option<String>,
    in_use: Option<String>,
}

fn loaded() -> &'static Loaded {
    static LOADED: OnceLock<Loaded> = OnceLock::new();
    LOADED.get_or_init(|| {
        let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) else {
            return Loaded::default();
        };
        let path = PathBuf::from(path);
        let at = |what: &str| shown(&format!("{VARIABLE}: {}: {what}", path.display()));
        match read(&path).and_then(|text| parse(&text)) {
            Ok(mut profile) => {
                let in_use = Some(at(&profile.to_string()));
                profile.kernel = profile.kernel.map(|(line, name)| (at(&line), name));
                Loaded { profile, fault: None, in_use }
            }
            Err(error) => Loaded { fault: Some(at(&error)), ..Loaded::default() },
        }
    })
}

fn read(path: &Path) -> Result<String, String> {
    // To open a named pipe would wait for somebody who writes to it.
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err("not a regular file".into());
    }
    let mut text = String::new();
    let read =
        File::open(path).and_then(|file| file.take(LONGEST as u64 + 1).read_to_string(&mut text));
    match read {
        Ok(len) if len > LONGEST => Err(format!("no profile, as it has more than {LONGEST} bytes")),
        Ok(_) => Ok(text),
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            Err("no text, as `treewide-bench tune` writes it".into())
        }
        Err(error) => Err(error.to_string()),
    }
}

/// A text to show to people, without control sequences for a terminal.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars() {
        match c.is_control() {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    shown
}

fn parse(text: &str) -> Result<Profile, String> {
    let mut profile = Profile::default();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let fault = |what: &str| format!("line {number}: {what}");
        let (name, value) = line.split_once('=').ok_or_else(|| fault("not NAME = VALUE"))?;
        let (name, value) = (name.trim(), value.trim());
        let text = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let place = match name {
            "kernel" => {
                let name = text.ok_or_else(|| fault("a kernel is a name in quotes"))?;
                profile.kernel = Some((format!("line {number}"), name.to_owned()));
                continue;
            }
            "parallel-from" => &mut profile.parallel_from,
            "batch-task" => &mut profile.batch_task,
            "file-from" => &mut profile.file_from,
            "gpu-staged-from" => &mut profile.gpu_staged_from,
            "gpu-wrapped-from" => &mut profile.gpu_wrapped_from,
            "gpu-file-from" => &mut profile.gpu_file_from,
            "file-tile" => {
                let tile = value
                    .parse()
                    .ok()
                    .filter(|tile: &usize| tile.is_power_of_two() && TILES.contains(tile));
                let (least, most) = (TILES.start(), TILES.end());
                let fault =
                    || fault(&format!("file-tile is a power of two from {least} to {most}"));
                profile.file_tile = Some(tile.ok_or_else(fault)?);
                continue;
            }
            _ => return Err(fault(&format!("nothing here is called '{name}'"))),
        };
        let bytes = if text == Some("never") { Some(u64::MAX) } else { value.parse().ok() };
        let bytes =
            bytes.ok_or_else(|| fault(&format!("{name} is a number of bytes or \"never\"")))?;
        // More than fits into memory is never reached.
        *place = Some(usize::try_from(bytes).unwrap_or(usize::MAX));
    }
    Ok(profile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_profile_says() {
        let text = "# comment\n\nkernel = \"portable\" # here\nparallel-from=5\nfile-from = \"never\"\n\
             file-tile = 65536\ngpu-staged-from = 9\ngpu-wrapped-from = \"never\"\ngpu-file-from=70";
        let expected = Profile {
            kernel: Some(("line 3".into(), "portable".into())),
            parallel_from: Some(5),
            batch_task: None,
            file_from: Some(usize::MAX),
            file_tile: Some(64 << 10),
            gpu_staged_from: Some(9),
            gpu_wrapped_from: Some(usize::MAX),
            gpu_file_from: Some(70),
        };
        assert_eq!(parse(text), Ok(expected));
        assert_eq!(parse(""), Ok(Profile::default()));
        let shown = "kernel portable, parallel-from 5, file-from never, file-tile 65536, \
                     gpu-staged-from 9, gpu-wrapped-from never, gpu-file-from 70";
        assert_eq!(parse(text).expect("a profile").to_string(), shown);
        assert_eq!(Profile::default().to_string(), "no choice");
    }

    #[test]
    fn a_message_holds_no_control_characters() {
        assert_eq!(shown("größe: \x1b[2J\n\u{9b}"), r"größe: \u{1b}[2J\n\u{9b}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    #[cfg_attr(miri, ignore = "Miri is kept from files")]
    fn read_refuses_what_has_no_end() {
        let pipe = std::env::temp_dir().join(format!("treewide-pipe-{}", std::process::id()));
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.is_ok_and(|status| status.success()), "mkfifo makes a pipe");
        for path in [Path::new("/dev/zero"), Path::new("/"), &pipe] {
            assert_eq!(read(path).unwrap_err(), "not a regular file");
        }
        let _ = std::fs::remove_file(&pipe); // it does no harm if it stays
        let path = std::env::temp_dir().join(format!("treewide-profile-{}", std::process::id()));
        std::fs::write(&path, vec![b'#'; LONGEST + 1]).expect("a file can be written");
        let text = read(&path).unwrap_err();
        let _ = std::fs::remove_file(&path); // it does no harm if it stays
        assert_eq!(text, "no profile, as it has more than 1048576 bytes");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, fault) in [
            ("\nparallel-from", "line 2: not NAME = VALUE"),
            ("turbo = 1", "line 1: nothing here is called 'turbo'"),
            ("batch-task = -1", "line 1: batch-task is a number of bytes or \"never\""),
            ("batch-task = \"128\"", "line 1: batch-task is a number of bytes or \"never\""),
            ("file-tile = 65535", "line 1: file-tile is a power of two from 65536 to 4194304"),
            ("file-tile = 32768", "line 1: file-tile is a power of two from 65536 to 4194304"),
            ("file-tile = 8388608", "line 1: file-tile is a power of two from 65536 to 4194304"),
            ("file-tile = \"never\"", "line 1: file-tile is a power of two from 65536 to 4194304"),
            ("gpu-file-from = soon", "line 1: gpu-file-from is a number of bytes or \"never\""),
            ("kernel = portable", "line 1: a kernel is a name in quotes"),
        ] {
            assert_eq!(parse(text), Err(fault.into()));
        }
    }
}
