//! Names of open files, such as `/dev/stdout` and `/proc/self/fd/3`.

use std::path::Path;

/// What such a name stands for.
#[cfg_attr(not(unix), expect(dead_code, reason = "there are no such names"))]
pub(crate) enum Descriptor {
    /// This number of this process.
    Ours(u32),
    /// One of another process; or of a thread, which may be ours.
    Foreign,
}

/// What a path stands for, if it or a link on its way is in a folder of descriptors.
#[cfg(unix)]
pub(crate) fn descriptor(path: &Path) -> Option<Descriptor> {
    use std::fs;
    let ours = ["/proc/self/fd", "/proc/thread-self/fd", "/dev/fd"];
    let ours = ours.map(|folder| fs::canonicalize(folder).ok());
    let mut path = path.to_owned();
    // As many links as the system would follow.
    for _ in 0..40 {
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let folder = fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()?;
        if ours.iter().flatten().any(|it| *it == folder) {
            return path.file_name()?.to_str()?.parse().ok().map(Descriptor::Ours);
        }
        if folder.starts_with("/proc") && folder.ends_with("fd") {
            return Some(Descriptor::Foreign);
        }
        path = folder.join(fs::read_link(&path).ok()?);
    }
    None
}

#[cfg(not(unix))]
pub(crate) fn descriptor(_: &Path) -> Option<Descriptor> {
    None
}
