//! Facts of Windows about a file that the standard library does not show: its number, when anything about it changed, and its file system.

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::os::windows::io::AsRawHandle;
use std::ptr::null_mut;

/// Classes of `GetFileInformationByHandleEx`, by their numbers in `winbase.h`.
const BASIC: i32 = 0;
const REMOTE: i32 = 13;
const ID: i32 = 18;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn GetFileInformationByHandleEx(
        file: *mut c_void,
        class: i32,
        to: *mut c_void,
        bytes: u32,
    ) -> i32;
    fn GetVolumeInformationByHandleW(
        file: *mut c_void,
        volume: *mut u16,
        volume_len: u32,
        serial: *mut u32,
        most: *mut u32,
        flags: *mut u32,
        system: *mut u16,
        system_len: u32,
    ) -> i32;
}

/// `FILE_BASIC_INFO`: times in steps of 100 ns since 1601.
#[repr(C)]
#[derive(Default)]
struct Basic {
    created: i64,
    accessed: i64,
    written: i64,
    changed: i64,
    attributes: u32,
}

/// `FILE_ID_INFO`.
#[repr(C)]
#[derive(Default)]
struct Id {
    volume: u64,
    id: [u8; 16],
}

/// Asks for one class of information, which has the layout of `T`.
fn ask<T: Default>(file: &File, class: i32) -> io::Result<T> {
    let mut found = T::default();
    let to = (&raw mut found).cast();
    // SAFETY: the handle is open as long as `file` is, and the system writes at most as many bytes as `found` has. All of them may
    // have any value.
    let is_done = unsafe {
        GetFileInformationByHandleEx(file.as_raw_handle(), class, to, size_of::<T>() as u32)
    };
    if is_done == 0 { Err(io::Error::last_os_error()) } else { Ok(found) }
}

/// When anything about a file changed, in steps of 100 ns since 1601; 0 where the file system does not say.
///
/// # Errors
/// If the system does not say.
pub fn change_time(file: &File) -> io::Result<i64> {
    ask::<Basic>(file, BASIC).map(|it| it.changed)
}

/// The number of a file's volume, and the number of the file there.
///
/// # Errors
/// If the file system has none.
pub fn numbers(file: &File) -> io::Result<(u64, u128)> {
    ask::<Id>(file, ID).map(|it| (it.volume, u128::from_le_bytes(it.id)))
}

/// The name of the file system of a file, such as `NTFS`. `None` if it is another machine's, or unknown.
pub fn file_system(file: &File) -> Option<String> {
    // `FILE_REMOTE_PROTOCOL_INFO` has 116 bytes. Only files of other machines have it.
    if ask::<[u64; 16]>(file, REMOTE).is_ok() {
        return None;
    }
    let mut name = [0_u16; 64];
    // SAFETY: the handle is open as long as `file` is. `name` has the length that is given, and null stands for facts that are not asked for.
    let is_done = unsafe {
        GetVolumeInformationByHandleW(
            file.as_raw_handle(),
            null_mut(),
            0,
            null_mut(),
            null_mut(),
            null_mut(),
            name.as_mut_ptr(),
            name.len() as u32,
        )
    };
    let len = name.iter().position(|unit| *unit == 0)?;
    (is_done != 0).then(|| String::from_utf16_lossy(&name[..len]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_time_moves_and_the_number_stays_where_the_write_time_is_put_back() {
        let path = std::env::temp_dir().join(format!("treewide-windows-{}", std::process::id()));
        std::fs::write(&path, "a").unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let seen = || (change_time(&file).unwrap(), numbers(&file).unwrap());
        let (before, written) = (seen(), file.metadata().unwrap().modified().unwrap());
        std::thread::sleep(std::time::Duration::from_millis(100));
        io::Write::write_all(&mut &file, b"b").unwrap();
        file.set_modified(written).unwrap();
        assert_eq!(file.metadata().unwrap().modified().unwrap(), written);
        let after = seen();
        assert!(after.0 > before.0, "{before:?} {after:?}");
        assert_eq!(after.1, before.1);
        assert_ne!(file_system(&file), Some(String::new()));
        drop(file);
        std::fs::remove_file(&path).unwrap();
    }
}
