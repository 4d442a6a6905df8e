//! Reads extended attributes, each time, also where a key says that the content is unchanged: not every file system moves ctime
//! with them.

use crate::format::xattrs::{Xattr, Xattrs};
use std::fs::File;
use std::io;
use std::path::Path;

impl Xattrs {
    /// All that this process may read.
    pub fn readable() -> Self {
        if sees_trusted() { Self::All } else { Self::WithoutTrusted }
    }

    /// Whether this program can read them at all.
    pub(crate) fn can_be_read(self) -> bool {
        self.is_none() || cfg!(all(unix, feature = "xattrs"))
    }
}

/// The attributes of a file that is open.
pub(crate) fn of_file(file: &File, covered: Xattrs) -> io::Result<Vec<Xattr>> {
    if covered.is_none() { Ok(Vec::new()) } else { system::of_file(file, covered) }
}

/// Reads the attributes of `path`. `follows` says whether a symbolic link there is followed.
pub(crate) fn at(path: &Path, follows: bool, covered: Xattrs) -> io::Result<Vec<Xattr>> {
    if covered.is_none() { Ok(Vec::new()) } else { system::at(path, follows, covered) }
}

#[cfg(all(unix, feature = "xattrs"))]
mod system {
    use crate::format::xattrs::{Value, Xattr, Xattrs, recorded};
    use std::ffi::{OsStr, OsString};
    use std::fs::File;
    use std::io;
    use std::os::unix::ffi::OsStringExt;
    use std::path::Path;
    use treewide_files::long_path;
    use xattr::{FileExt, XAttrs};

    /// If attributes come and go, they are read this many times.
    const TRIES: usize = 3;

    pub(super) fn of_file(file: &File, covered: Xattrs) -> io::Result<Vec<Xattr>> {
        read(|| file.list_xattr(), |name| file.get_xattr(name), covered)
    }

    pub(super) fn at(path: &Path, follows: bool, covered: Xattrs) -> io::Result<Vec<Xattr>> {
        let here = |path: &Path| match follows {
            true => read(|| xattr::list_deref(path), |name| xattr::get_deref(path, name), covered),
            false => read(|| xattr::list(path), |name| xattr::get(path, name), covered),
        };
        match here(path) {
            Err(error) if long_path::is_too_long(&error) => {
                long_path::by_short_name(path, |short| here(short)).unwrap_or(Err(error))
            }
            read => read,
        }
    }

    fn read(
        list: impl Fn() -> io::Result<XAttrs>,
        get: impl Fn(&OsStr) -> io::Result<Option<Vec<u8>>>,
        covered: Xattrs,
    ) -> io::Result<Vec<Xattr>> {
        for _ in 0..TRIES {
            let names = match list() {
                // The file system has none.
                Err(error) if is_unsupported(&error) => return Ok(Vec::new()),
                names => names?.map(OsString::into_vec).filter(|name| covered.has(name)),
            };
            let get = |name: Vec<u8>| {
                let name = OsString::from_vec(name);
                let value = get(&name).map_err(|error| failed(&name, &error))?;
                Ok(value.map(|value| Xattr { name: name.into_vec(), value: Value::from(value) }))
            };
            // `None` if one is gone since it was listed.
            let found = names.map(get).collect::<io::Result<Option<Vec<Xattr>>>>()?;
            if let Some(found) = found {
                return Ok(recorded(found));
            }
        }
        Err(io::Error::other("its extended attributes change all the time"))
    }

    fn is_unsupported(error: &io::Error) -> bool {
        /// `ENOTSUP` of macOS, which the standard library may not know.
        const OF_MACOS: i32 = 45;
        error.kind() == io::ErrorKind::Unsupported
            || cfg!(target_vendor = "apple") && error.raw_os_error() == Some(OF_MACOS)
    }

    fn failed(name: &OsStr, error: &io::Error) -> io::Error {
        let name = treewide_files::name::shown(Path::new(name));
        io::Error::new(error.kind(), format!("its attribute {name} cannot be read: {error}"))
    }
}

#[cfg(not(all(unix, feature = "xattrs")))]
mod system {
    use super::{Xattr, Xattrs};
    use std::fs::File;
    use std::io;
    use std::path::Path;

    pub(super) fn of_file(_: &File, _: Xattrs) -> io::Result<Vec<Xattr>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn at(_: &Path, _: bool, _: Xattrs) -> io::Result<Vec<Xattr>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Whether `trusted.*` is shown to this process: it is to one that may administer the whole machine. Others do not learn
/// that there are such attributes.
#[cfg(target_os = "linux")]
fn sees_trusted() -> bool {
    use std::fs::read_to_string;
    let read = |path| read_to_string(path).unwrap_or_default();
    is_administrator(&read("/proc/thread-self/status"), &read("/proc/self/uid_map"))
}

/// Elsewhere there is no such kind of attribute.
#[cfg(not(target_os = "linux"))]
fn sees_trusted() -> bool {
    true
}

/// Whether it has the capability, and is in no namespace of users of its own, where the capability does not count.
#[cfg(target_os = "linux")]
fn is_administrator(status: &str, uid_map: &str) -> bool {
    const CAP_SYS_ADMIN: u64 = 1 << 21;
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|it| u64::from_str_radix(it.trim(), 16).ok()).unwrap_or(0);
    let all_users = uid_map.split_whitespace().eq(["0", "0", "4294967295"]);
    effective & CAP_SYS_ADMIN != 0 && all_users
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn is_administrator_needs_the_capability_and_all_users() {
        let all = "         0          0 4294967295\n";
        assert!(is_administrator("Name:\tx\nCapEff:\t000001ffffffffff\n", all));
        assert!(is_administrator("CapEff:\t0000000000200000\n", all));
        assert!(!is_administrator("CapEff:\t000001ffffdfffff\n", all));
        assert!(!is_administrator("CapEff:\t000001ffffffffff\n", "0 1000 1\n"));
        assert!(!is_administrator("", all));
    }
}
