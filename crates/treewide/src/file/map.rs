//! The strategies that map, and what makes a mapping safe.
//!
//! Reading a page of a mapping beyond the end of the file raises SIGBUS, and a file may become shorter at any time.
//! While a thread hashes a mapping, a variable of this thread holds the addresses. The handler of SIGBUS reads it. If
//! the fault is inside, the handler puts pages of zeros in place of the rest of the mapping and sets a flag; the
//! thread hashes zeros until the end of the tile, finds the flag, and reports that the file became shorter. All other
//! faults go to the handler that was installed before, or end the process as without us.
//!
//! A file is mapped window by window. One call maps the pages of a tile, instead of one page fault for each page.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use memmap2::{Mmap, MmapOptions};

use super::error::ErrorKind;
use super::hooks::Hooks;
use super::read;
use crate::buffer::Buffer;
use crate::length;
use crate::parallel::leaves::{self, Leaves, Sink};

/// The bytes of a mapping. A guess: large enough that mapping costs nothing, small enough for 32-bit address spaces.
const WINDOW: u64 = 256 << 20;

/// The number of tiles of a window that are hashed both ways, alternately, to find the faster one. A guess: four each, and
/// the fastest of four ignores most disturbances.
const TRIAL: usize = 8;

/// Appends a file from `at` to `len` through mappings, and returns the number of bytes. If it cannot be mapped, it is
/// read. If `may_copy`, tiles are copied where that is faster: where the page cache holds them in small pieces, because
/// each piece needs an entry of the page table and misses the translation buffer
/// (`results/zen5-2vcpu/files.md#strategies`).
pub(super) fn mapped(
    sink: &mut impl Sink,
    file: &File,
    mut at: u64,
    len: u64,
    threads: usize,
    may_copy: bool,
    hooks: &Hooks<'_>,
) -> Result<u64, ErrorKind> {
    let (start, tile) = (at, hooks.tile);
    while at < len {
        let here = WINDOW.min(len - at) as usize;
        let Ok(map) = Guarded::new(file, at, here) else {
            let read = read::positional(sink, file, at, len, threads, false, hooks)?;
            return Ok(at - start + read);
        };
        let best = [const { AtomicU64::new(u64::MAX) }; 2];
        let both = may_copy.then_some(BothWays { file, at, len, best });
        let tiles = Tiles { map: &map, next: AtomicUsize::new(0), both, hooks };
        leaves::append(sink, &tiles, tile, here / tile, threads)?;
        let rest = here % tile;
        if rest > 0 {
            hooks.read(rest)?;
            let _guard = map.guard();
            sink.update(map.populated(here - rest, rest));
        }
        if map.is_hit.load(Ordering::Relaxed) {
            return Err(match file.metadata().map_err(ErrorKind::Read)?.len() {
                now if now < len => ErrorKind::Shrank { read: now, len },
                // The device failed, or the file has its old length again.
                _ => ErrorKind::Read(io::Error::other("a page of the file could not be read")),
            });
        }
        drop(map);
        hooks.done(at, here as u64);
        at += here as u64;
    }
    Ok(at - start)
}

/// Whether a mapping can be guarded.
pub(super) fn is_possible() -> bool {
    handler::is_ours()
}

/// Tiles of a mapping.
struct Tiles<'a> {
    map: &'a Guarded,
    next: AtomicUsize,
    /// The buffer for copying tiles instead.
    both: Option<BothWays<'a>>,
    hooks: &'a Hooks<'a>,
}

struct BothWays<'a> {
    file: &'a File,
    /// The position of the mapping in the file.
    at: u64,
    /// The length of the file.
    len: u64,
    /// The least time of a tile so far, in nanoseconds: mapped, copied.
    best: [AtomicU64; 2],
}

const MAPPED: usize = 0;
const COPIED: usize = 1;

struct Scratch<'a> {
    _guard: Guard<'a>,
    buffer: Buffer,
    /// When and how the current tile was begun, if it is measured, and what it takes to unmap it.
    begun: Option<(Instant, usize, Duration)>,
}

impl BothWays<'_> {
    /// Chooses how to read a tile.
    fn choose(&self, index: usize) -> usize {
        let best = |way: usize| self.best[way].load(Ordering::Relaxed);
        if index < TRIAL { index % 2 } else { usize::from(best(COPIED) < best(MAPPED)) }
    }

    fn note(&self, way: usize, time: Duration) {
        let nanoseconds = time.as_nanos() as u64;
        self.best[way].fetch_min(nanoseconds, Ordering::Relaxed);
    }
}

impl<'m> Leaves for Tiles<'m> {
    type Scratch = Scratch<'m>;
    type Error = ErrorKind;

    fn scratch(&self) -> Scratch<'m> {
        Scratch { _guard: self.map.guard(), buffer: Buffer::default(), begun: None }
    }

    fn next<'a>(
        &'a self,
        scratch: &'a mut Scratch<'m>,
    ) -> Result<Option<(usize, &'a [u8])>, ErrorKind> {
        if let (Some((begun, way, unmapping)), Some(both)) = (scratch.begun.take(), &self.both) {
            both.note(way, begun.elapsed() + unmapping);
        }
        let len = self.hooks.tile;
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        if (index + 1) * len > self.map.map.len() || self.map.is_hit.load(Ordering::Relaxed) {
            return Ok(None);
        }
        self.hooks.read(len)?;
        let way = self.both.as_ref().map_or(MAPPED, |both| both.choose(index));
        if self.both.is_some() && index < TRIAL {
            // Map its pages before the clock starts.
            read::grow(&mut scratch.buffer, len)?;
            scratch.begun = Some((Instant::now(), way, Duration::ZERO));
        }
        let tile = match &self.both {
            Some(both) if way == COPIED => {
                read::grow(&mut scratch.buffer, len)?;
                let at = both.at + (index * len) as u64;
                let read = read::fill(&mut read::At { file: both.file, at }, &mut scratch.buffer)?;
                if read < len {
                    return Err(ErrorKind::of(length::ended(
                        both.file,
                        at + read as u64,
                        both.len,
                    )));
                }
                &scratch.buffer[..]
            }
            _ => {
                let tile = self.map.populated(index * len, len);
                if let Some((begun, _, unmapping)) = &mut scratch.begun {
                    // It comes at the end of the window, and takes about as long as mapping
                    // (`results/zen5-2vcpu/files.md#which-way-a-window-is-read`).
                    *unmapping = begun.elapsed();
                }
                tile
            }
        };
        Ok(Some((index, tile)))
    }
}

/// A mapping of a part of a file.
struct Guarded {
    map: Mmap,
    /// Whether a part of it was beyond the end of the file.
    is_hit: AtomicBool,
}

impl Guarded {
    fn new(file: &File, at: u64, len: usize) -> io::Result<Self> {
        if !handler::is_ours() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        // SAFETY: bytes that change are only hashed, and the handler replaces pages that disappear wherever there is
        // a `Guard`.
        let map = unsafe { MmapOptions::new().offset(at).len(len).map(file)? };
        Ok(Self { map, is_hit: AtomicBool::new(false) })
    }

    /// While this is held, this thread may read the mapping.
    fn guard(&self) -> Guard<'_> {
        let addresses = self.map.as_ptr_range();
        let guarded =
            (addresses.start as usize, addresses.end as usize, ptr::from_ref(&self.is_hit));
        Guard { before: GUARDED.replace(guarded), _map: self }
    }

    /// Maps the pages of a part at once.
    fn populate(&self, at: usize, len: usize) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        let advice = memmap2::Advice::PopulateRead;
        #[cfg(not(target_os = "linux"))]
        let advice = memmap2::Advice::WillNeed;
        self.map.advise_range(advice, at, len)
    }

    fn populated(&self, at: usize, len: usize) -> &[u8] {
        // If this is not supported (before Linux 5.14) or fails, page faults map the pages.
        let _ = self.populate(at, len);
        &self.map[at..at + len]
    }
}

thread_local! {
    /// The addresses where this thread may miss pages, and the flag to set then.
    static GUARDED: Cell<(usize, usize, *const AtomicBool)> =
        const { Cell::new((0, 0, ptr::null())) };
}

struct Guard<'a> {
    before: (usize, usize, *const AtomicBool),
    _map: &'a Guarded,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        GUARDED.set(self.before);
    }
}

mod handler {
    use super::*;

    /// The action of SIGBUS before ours.
    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();
    static PAGE: AtomicUsize = AtomicUsize::new(0);

    /// Returns whether SIGBUS comes to us. The first call installs the handler.
    pub(super) fn is_ours() -> bool {
        static INSTALLED: OnceLock<()> = OnceLock::new();
        INSTALLED.get_or_init(|| {
            let _ = install(); // a failure shows below
        });
        current().is_some_and(|action| action.sa_sigaction == entry())
    }

    fn entry() -> usize {
        on_sigbus as extern "C" fn(_, _, _) as usize
    }

    fn current() -> Option<libc::sigaction> {
        // SAFETY: all zeros are a value of this plain struct.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: it only writes the current action to `action`.
        let result = unsafe { libc::sigaction(libc::SIGBUS, ptr::null(), &mut action) };
        (result == 0).then_some(action)
    }

    fn install() -> Option<()> {
        PAGE.store(rustix::param::page_size(), Ordering::Relaxed);
        // This is set before the handler can run.
        BEFORE.set(current()?).ok()?;
        // SAFETY: all zeros are a value of this plain struct: no flags, an empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = entry();
        // Like the handler of Rust's runtime, on the alternate stack if the thread has one.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: the handler calls only functions that are safe in a signal handler.
        let result = unsafe { libc::sigaction(libc::SIGBUS, &action, ptr::null_mut()) };
        (result == 0).then_some(())
    }

    extern "C" fn on_sigbus(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: the system passes valid information, and SIGBUS has an address.
        let address = unsafe { (*info).si_addr() } as usize;
        let (start, end, is_hit) = GUARDED.get();
        if !(start..end).contains(&address) || !replace(address, end) {
            return chain(signal, info, context);
        }
        // SAFETY: the `Guard` that wrote it to `GUARDED` of this thread lives until it is replaced there.
        unsafe { (*is_hit).store(true, Ordering::Relaxed) };
    }

    /// Puts zeros in place of the pages from the one of `address` to `end`.
    fn replace(address: usize, end: usize) -> bool {
        let page = PAGE.load(Ordering::Relaxed);
        let from = address & !(page - 1);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_FIXED;
        // SAFETY: these addresses belong to a mapping that the interrupted thread is reading. Nothing else writes
        // there, and unmapping the mapping unmaps these pages too. `mmap` is a plain system call.
        let pages =
            unsafe { libc::mmap(from as *mut _, end - from, libc::PROT_READ, flags, -1, 0) };
        pages != libc::MAP_FAILED
    }

    /// Does what would have happened without us.
    fn chain(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        let before = BEFORE.get();
        // SAFETY: the system passes valid information.
        let is_sent = unsafe { (*info).si_code } <= 0;
        match before.map_or(libc::SIG_DFL, |before| before.sa_sigaction) {
            libc::SIG_IGN if is_sent => {}
            libc::SIG_DFL if is_sent => {
                // A program sent it, so no fault happens again.
                // SAFETY: plain calls; the signal waits until we return, and then ends the process.
                unsafe {
                    libc::signal(signal, libc::SIG_DFL);
                    libc::raise(signal);
                }
            }
            libc::SIG_DFL | libc::SIG_IGN => {
                // SAFETY: a plain call; when we return, the fault happens again and ends the process.
                unsafe { libc::signal(signal, libc::SIG_DFL) };
            }
            handler if before.is_some_and(|it| it.sa_flags & libc::SA_SIGINFO != 0) => {
                type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);
                // SAFETY: with that flag, a handler has this type.
                let handler = unsafe { std::mem::transmute::<usize, Handler>(handler) };
                handler(signal, info, context);
            }
            handler => {
                // SAFETY: without that flag, a handler has this type.
                let handler = unsafe { std::mem::transmute::<usize, extern "C" fn(i32)>(handler) };
                handler(signal);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_go_the_way_that_was_faster() {
        let file = File::open("/dev/null").unwrap();
        let best = [const { AtomicU64::new(u64::MAX) }; 2];
        let both = BothWays { file: &file, at: 0, len: 0, best };
        let ways: Vec<_> = (0..TRIAL).map(|tile| both.choose(tile)).collect();
        assert_eq!(ways, [MAPPED, COPIED].repeat(TRIAL / 2), "each in turn");
        // The least time counts, because other programs only make a tile slower.
        for (way, nanoseconds, faster) in
            [(MAPPED, 9, MAPPED), (COPIED, 8, COPIED), (MAPPED, 7, MAPPED), (COPIED, 9, MAPPED)]
        {
            both.note(way, Duration::from_nanos(nanoseconds));
            assert_eq!(both.choose(TRIAL), faster, "after {nanoseconds} ns");
        }
    }
}
