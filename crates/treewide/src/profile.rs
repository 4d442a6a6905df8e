//! Choices measured on this machine, in place of those that come with the crate.
//!
//! `treewide-bench tune` measures where other choices become faster and writes them to a file; the
//! variable `TREEWIDE_PROFILE` names it. It is read once, at the first use, and changes how fast
//! hashing is, never what comes out. Without the variable the choices are those measured on the
//! machines in `results/`.
//!
//! ```text
//! # Written by treewide-bench tune.
//! kernel = "avx2"            # as TREEWIDE_KERNEL does, which goes before it
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
//! A line is a name and a value; what follows `#` is a comment. Names that are left out keep their
//! choice. One profile is for all programs of a machine: what a program has no use for, it ignores.
//!
//! A file that cannot be read, or that has one line that is wrong, is ignored as a whole. A kernel that this build does
//! not have or that this CPU cannot run is ignored alone: programs for 32 and for 64 bits share the profile of their
//! machine. [`explain`](crate::kernel::explain) names what is ignored, and
//! [`check_environment`](crate::check_environment) makes it an error.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The environment variable that names the file.
const VARIABLE: &str = "TREEWIDE_PROFILE";

/// Bytes of the longest profile, of which each needs but a few hundred. What the variable names by
/// mistake may be of any length, or have no end.
const LONGEST: usize = 1 << 20;

/// Bytes of the tiles that a file may be cut into. Shorter ones would each cost more than they bring,
/// and of longer ones each thread has a buffer.
pub(crate) const TILES: RangeInclusive<usize> = 64 << 10..=4 << 20;

/// What a file chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "file"), allow(dead_code, reason = "each feature reads its own"))]
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

/// From how many bytes on a GPU that is open is done sooner than all threads of the CPU, where the
/// profile says so; the highest number stands for never.
///
/// The crate `treewide-gpu` asks for it: below these lengths it tries no GPU where it has the choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gpu {
    /// Bytes in ordinary memory, through pinned buffers: `gpu-staged-from`.
    pub staged_from: Option<u64>,
    /// Bytes in ordinary memory, pinned where they lie: `gpu-wrapped-from`.
    pub wrapped_from: Option<u64>,
    /// Bytes of a file in the page cache: `gpu-file-from`.
    pub file_from: Option<u64>,
}

/// What the profile says of GPUs; nothing, if there is none that can be used.
pub fn gpu() -> Gpu {
    let it = current();
    let bytes = |from: Option<usize>| from.map(|bytes| u64::try_from(bytes).unwrap_or(u64::MAX));
    Gpu {
        staged_from: bytes(it.gpu_staged_from),
        wrapped_from: bytes(it.gpu_wrapped_from),
        file_from: bytes(it.gpu_file_from),
    }
}

/// What the file chooses; nothing, if there is none that can be used.
pub(crate) fn current() -> &'static Profile {
    &loaded().profile
}

/// Why the file that `TREEWIDE_PROFILE` names cannot be used, if so. The text names the file and the line.
pub(crate) fn fault() -> Option<&'static str> {
    loaded().fault.as_deref()
}

/// A profile that says nothing, where there is a fault.
#[derive(Default)]
struct Loaded {
    profile: Profile,
    fault: Option<String>,
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
                profile.kernel = profile.kernel.map(|(line, name)| (at(&line), name));
                Loaded { profile, fault: None }
            }
            Err(error) => Loaded { fault: Some(at(&error)), ..Loaded::default() },
        }
    })
}

fn read(path: &Path) -> Result<String, String> {
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

/// A text for people, unable to send control sequences to a terminal.
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
        // What is more than fits into memory is never reached there.
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
    }

    #[test]
    fn a_message_holds_no_control_characters() {
        assert_eq!(shown("größe: \x1b[2J\n\u{9b}"), r"größe: \u{1b}[2J\n\u{9b}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    #[cfg_attr(miri, ignore = "Miri is kept from files")]
    fn a_profile_without_an_end_is_refused() {
        let text = read(Path::new("/dev/zero")).unwrap_err();
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
