//! Between two pages without access.

use super::Side;

pub(super) const SIDES: [Side; 2] = [Side::First, Side::Last];

/// Memory between two pages without access.
pub(super) struct Guarded {
    start: *mut u8,
    len: usize,
    page: usize,
}

impl Guarded {
    /// Room for `least` bytes, in whole pages.
    pub(super) fn new(least: usize) -> Self {
        // SAFETY: a new mapping; the two pages that lose their access are within it.
        unsafe {
            let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
            let len = least.next_multiple_of(page);
            let (access, private) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            let all = libc::mmap(std::ptr::null_mut(), len + 2 * page, access, private, -1, 0);
            assert_ne!(all, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(all, page, libc::PROT_NONE), 0);
            assert_eq!(libc::mprotect(all.byte_add(page + len), page, libc::PROT_NONE), 0);
            Self { start: all.byte_add(page).cast(), len, page }
        }
    }

    /// The same for memory that is written while another is read.
    pub(super) fn output(least: usize) -> Self {
        Self::new(least)
    }

    /// The first or the last `len` bytes, filled with `bytes` as far as those go.
    pub(super) fn put(&mut self, side: Side, len: usize, bytes: &[u8]) -> &mut [u8] {
        let at = match side {
            Side::First => 0,
            Side::Last => self.len - len,
        };
        // SAFETY: the pages between the guards, borrowed as long as `self`.
        let all = unsafe { std::slice::from_raw_parts_mut(self.start, self.len) };
        let place = &mut all[at..at + len];
        let filled = len.min(bytes.len());
        place[..filled].copy_from_slice(&bytes[..filled]);
        place
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the whole mapping, and no one has a piece of it any more.
        unsafe { libc::munmap(self.start.sub(self.page).cast(), self.len + 2 * self.page) };
    }
}

#[test]
fn the_guards_are_there() {
    // The system says so when it is to read there; no child has to die of it, whose fork may hang
    // under an emulator when other threads are at work.
    let mut ends = [0; 2];
    // SAFETY: room for both ends.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    let [reader, writer] = ends;
    for side in SIDES {
        let mut guarded = Guarded::new(1);
        let place = guarded.put(side, 1, &[]).as_mut_ptr();
        let beyond = match side {
            Side::First => place.wrapping_sub(1),
            Side::Last => place.wrapping_add(1),
        };
        // SAFETY: the system checks the address and says `EFAULT`.
        let [inside, outside] =
            [place, beyond].map(|byte| unsafe { libc::write(writer, byte.cast(), 1) });
        let error = std::io::Error::last_os_error().raw_os_error();
        assert_eq!((inside, outside), (1, -1), "{side:?}: the guard let a read pass");
        assert_eq!(error, Some(libc::EFAULT), "{side:?}");
    }
    for end in [reader, writer] {
        // SAFETY: no one else has it.
        unsafe { libc::close(end) };
    }
}
