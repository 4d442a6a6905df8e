//! State that a call may not change: registers that belong to the caller, and the stack pointer.
//!
//! As on x86-64, [`observe`] fills the registers with known values, calls, and writes down what came back. It is
//! assembly as a whole, so that no compiler is between it and what is called.

use core::arch::naked_asm;
use core::ffi::c_void;
use core::mem::offset_of;

use super::calls::{Closure, call, every_entry};
use super::supported;
use crate::kernel::aarch64::columns;

/// What goes into and comes out of [`observe`]: registers in the order of [`VANDALS`], and the link register.
#[repr(C)]
struct Frame {
    given: [u64; 20],
    after: [u64; 20],
    stack: u64,
    stack_after: u64,
}

type Entry = unsafe extern "C" fn(*mut c_void);

/// Loads or stores all registers that are the caller's, of vectors the lower halves, and the link register.
macro_rules! registers {
    ($pair:literal, $at:literal) => {
        registers!($pair, $at: "x19, x20" 0, "x21, x22" 16, "x23, x24" 32, "x25, x26" 48, "x27, x28" 64,
            "d8, d9" 80, "d10, d11" 96, "d12, d13" 112, "d14, d15" 128, "x29, x30" 144)
    };
    ($pair:literal, $at:literal: $($two:literal $offset:literal),*) => {
        concat!($($pair, " ", $two, ", [", $at, ", ", $offset, "]\n",)*)
    };
}

/// Calls `entry(argument)` and fills in `frame`.
#[unsafe(naked)]
unsafe extern "C" fn observe(entry: Entry, argument: *mut c_void, frame: *mut Frame) {
    naked_asm!(
        "sub sp, sp, 176",
        registers!("stp", "sp"),
        "str x2, [sp, 160]",
        "mov x9, sp",
        "str x9, [x2, {stack}]",
        // The first two tell later where the stack was.
        "stp x9, x9, [x2]",
        registers!("ldp", "x2"),
        "mov x9, x0",
        "mov x0, x1",
        "blr x9",
        // If they are no longer the same, one of them was changed, and so not the stack pointer.
        "mov x9, sp",
        "cmp x19, x20",
        "csel x10, x19, x9, eq",
        "ldr x2, [x10, 160]",
        "str x9, [x2, {stack_after}]",
        "mov sp, x10",
        "add x9, x2, {after}",
        registers!("stp", "x9"),
        registers!("ldp", "sp"),
        "add sp, sp, 176",
        "ret",
        stack = const offset_of!(Frame, stack),
        stack_after = const offset_of!(Frame, stack_after),
        after = const offset_of!(Frame, after),
    )
}

/// What `entry(argument)` changed that it may not; nothing if all is well.
fn damage(entry: Entry, argument: *mut c_void) -> Vec<&'static str> {
    let given = std::array::from_fn(|i| 0xdead_beef_0000_0001_u64.wrapping_mul(2 * i as u64 + 1));
    let mut frame = Frame { given, after: [0; 20], stack: 0, stack_after: 0 };
    // SAFETY: the entry is one of those below, with its argument.
    unsafe { observe(entry, argument, &raw mut frame) };
    let registers = VANDALS.iter().zip(frame.given.iter().zip(&frame.after));
    let changed =
        registers.filter(|(_, (given, after))| given != after).map(|((name, _), _)| *name);
    changed.chain((frame.stack != frame.stack_after).then_some("sp")).collect()
}

fn through_a_closure(mut closure: Closure<'_>) -> Vec<&'static str> {
    damage(call, (&raw mut closure).cast())
}

macro_rules! vandals {
    ($($move:literal: $($name:ident)*;)*) => {
        $($(#[unsafe(naked)]
        unsafe extern "C" fn $name(_: *mut c_void) {
            naked_asm!(concat!($move, " ", stringify!($name), ", xzr"), "ret")
        })*)*
        const VANDALS: &[(&str, Entry)] = &[$($((stringify!($name), $name as Entry)),*),*];
    };
}

vandals! {
    "mov": x19 x20 x21 x22 x23 x24 x25 x26 x27 x28;
    "fmov": d8 d9 d10 d11 d12 d13 d14 d15;
    "mov": x29;
}

#[unsafe(naked)]
unsafe extern "C" fn sp(_: *mut c_void) {
    naked_asm!("sub sp, sp, 16", "ret")
}

/// The check itself: it must see damage.
#[test]
fn damage_is_seen() {
    unsafe extern "C" fn nothing(_: *mut c_void) {}
    assert_eq!(damage(nothing, core::ptr::null_mut()), [""; 0]);
    assert_eq!(damage(sp, core::ptr::null_mut()), ["sp"]);
    for (name, entry) in VANDALS {
        assert_eq!(damage(*entry, core::ptr::null_mut()), [*name]);
        // Also through the closure's layer: it must not repair what a kernel does wrong, except for the frame
        // pointer, which compiled code saves.
        // SAFETY: the argument is not looked at.
        let mut closure = || unsafe { entry(core::ptr::null_mut()) };
        assert!(*name == "x29" || through_a_closure(&mut closure) == [*name], "{name}");
    }
}

#[test]
fn every_entry_keeps_what_is_the_callers() {
    every_entry(|name, closure| {
        let damage = through_a_closure(closure);
        assert!(damage.is_empty(), "{name} changes {damage:?}");
    });
}

/// What a routine of assembly gets.
#[repr(C)]
struct Routine {
    entry: *const (),
    arguments: [*mut u8; 4],
}

/// Continues at the routine, so that no compiled code is between it and [`observe`], which would restore
/// what the routine has changed.
#[unsafe(naked)]
unsafe extern "C" fn go_on(_: *mut c_void) {
    naked_asm!(
        "mov x9, x0",
        "ldp x16, x0, [x9]",
        "ldp x1, x2, [x9, 16]",
        "ldr x3, [x9, 32]",
        "br x16"
    )
}

/// The routines by themselves: passes around them save registers of their own caller, and hide what they do to them.
#[test]
fn assembly_keeps_what_is_the_callers() {
    #[repr(align(64))]
    struct Room([u8; 512]);

    let mut rooms: [Room; 4] = [const { Room([0; 512]) }; 4];
    let arguments = rooms.each_mut().map(|room| room.0.as_mut_ptr());
    let routines: [(&str, &str, *const ()); 8] = [
        ("neon-two-ports", "compress_4", columns::compress_4 as _),
        ("neon-two-ports", "compress_xof_4", columns::compress_xof_4 as _),
        ("neon-four-ports", "compress_8", columns::compress_8 as _),
        ("neon-four-ports", "compress_xof_8", columns::compress_xof_8 as _),
        ("sve2", "compress_sve2_4", columns::compress_sve2_4 as _),
        ("sve2", "compress_xof_sve2_4", columns::compress_xof_sve2_4 as _),
        ("sve2", "compress_sve2_8", columns::compress_sve2_8 as _),
        ("sve2", "compress_xof_sve2_8", columns::compress_xof_sve2_8 as _),
    ];
    for (kernel, name, entry) in routines {
        if supported().any(|it| it.name() == kernel) {
            let mut routine = Routine { entry, arguments };
            let damage = damage(go_on, (&raw mut routine).cast());
            assert!(damage.is_empty(), "{name} changes {damage:?}");
        }
    }
}
