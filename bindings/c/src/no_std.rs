//! The handler of panics, for libraries without Rust's standard library.
//!
//! Two static libraries that both contain the standard library cannot be linked into one program, and that library wants
//! more than libc. So it is there only with the feature `parallel`.

use core::ffi::{c_int, c_void};
use core::fmt::{self, Write};
use core::panic::PanicInfo;

#[cfg_attr(unix, link(name = "c"))]
#[cfg_attr(windows, link(name = "msvcrt"))]
unsafe extern "C" {
    fn abort() -> !;
    #[cfg_attr(windows, link_name = "_write")]
    fn write(file: c_int, data: *const c_void, len: usize) -> isize;
}

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
