//! The allocator and the handler of panics, for libraries without Rust's standard library.
//!
//! Two static libraries that both contain the standard library cannot be linked into one program, and that library wants
//! more than libc. So it is there only with the feature `parallel`.

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::{c_int, c_void};
use core::fmt::{self, Write};
use core::panic::PanicInfo;
use core::ptr;

#[cfg_attr(unix, link(name = "c"))]
#[cfg_attr(windows, link(name = "msvcrt"))]
unsafe extern "C" {
    fn abort() -> !;
    fn malloc(len: usize) -> *mut c_void;
    fn free(at: *mut c_void);
    #[cfg_attr(windows, link_name = "_write")]
    fn write(file: c_int, data: *const c_void, len: usize) -> isize;
}

/// The memory of streams.
struct Heap;

// SAFETY: malloc aligns for every type of C.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() > align_of::<u64>() {
            return ptr::null_mut();
        }
        // SAFETY: it may be called at any time.
        unsafe { malloc(layout.size()) }.cast()
    }

    unsafe fn dealloc(&self, at: *mut u8, _: Layout) {
        // SAFETY: `alloc` gave it.
        unsafe { free(at.cast()) };
    }
}

#[global_allocator]
static HEAP: Heap = Heap;

struct StandardError;

impl Write for StandardError {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // SAFETY: `text` is that long. What cannot be written is lost: the program ends.
        unsafe { write(2, text.as_ptr().cast(), text.len()) };
        Ok(())
    }
}

/// Says what was misused, and ends the program.
#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    _ = writeln!(StandardError, "treewide: {}", info.message());
    // SAFETY: it may be called at any time.
    unsafe { abort() }
}
