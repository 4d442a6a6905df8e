//! The program `treewide`. What it does is in the library.

#![deny(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(feature = "gpu")]
    environment::look_for_no_window_system();
    // On Unix this is `std::env::args_os`; on Windows it expands `*` as b3sum does.
    ExitCode::from(treewide_cli::run(wild::args_os(), early::inherited()))
}

#[cfg(unix)]
mod early {
    #![allow(unsafe_code)]

    use std::sync::OnceLock;
    use treewide_cli::Inherited;

    static FOUND: OnceLock<Inherited> = OnceLock::new();

    /// The loader calls this before `main`. Rust's runtime, which starts later, opens /dev/null for each closed descriptor
    /// and ignores SIGPIPE. Afterwards a closed descriptor looks like one that the parent directed to /dev/null (Python's
    /// `DEVNULL` is also open for reading and writing).
    // SAFETY: the section holds addresses of functions that the loader calls with the C calling convention. `look`
    // takes no arguments, ignores what some loaders pass, and needs nothing that `main` or the runtime prepares.
    #[used]
    #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
    #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
    static LOOK: extern "C" fn() = look;

    extern "C" fn look() {
        let _ = FOUND.set(Inherited::find());
    }

    pub(crate) fn inherited() -> Inherited {
        *FOUND.get_or_init(Inherited::find)
    }
}

#[cfg(not(unix))]
mod early {
    pub(crate) fn inherited() -> treewide_cli::Inherited {
        treewide_cli::Inherited::find()
    }
}

#[cfg(feature = "gpu")]
mod environment {
    #![allow(unsafe_code)]

    /// Keeps the layer of Mesa that orders devices from looking for a window system where there is none: it would write
    /// about that to standard error. We order devices ourselves. No other thread may run yet.
    pub(crate) fn look_for_no_window_system() {
        const IS_OFF: &str = "NODEVICE_SELECT";
        let is_set = |name| std::env::var_os(name).is_some();
        if !is_set("XDG_RUNTIME_DIR") && !is_set(IS_OFF) {
            // SAFETY: no other thread runs that could read the environment; `main` begins with this.
            unsafe { std::env::set_var(IS_OFF, "1") };
        }
    }
}
