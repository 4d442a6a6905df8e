//! State that a call may not change: registers that belong to the caller, the direction flag, the
//! control word of SSE, the stack pointer; and that the upper halves of vector registers are left
//! clean, as SSE code after them would be slow.
//!
//! [`observe`] fills the registers with known values, calls, and writes down what came back. It
//! is assembly as a whole, so that no compiler is between it and the kernel but the one function
//! that unpacks the arguments. The calls start at every place of the stack modulo 64 that the
//! calling convention allows.

use core::arch::naked_asm;
use core::ffi::c_void;
use core::mem::offset_of;

use super::calls::{Closure, call, every_entry};
#[cfg(not(windows))]
use super::supported;
#[cfg(not(windows))]
use crate::kernel::x86_64::columns::{avx512, avx512_pair, sse_avx2};

/// rbx, rbp, r12 to r15; on Windows rdi and rsi too.
const GENERAL: usize = if cfg!(windows) { 8 } else { 6 };
const NAMES: [&str; 8] = ["rbx", "rbp", "r12", "r13", "r14", "r15", "rdi", "rsi"];

/// What goes into and comes out of [`observe`].
#[repr(C)]
struct Frame {
    general: [u64; 8],
    /// xmm6 to xmm15, which are the caller's on Windows.
    vectors: [u128; 10],
    general_after: [u64; 8],
    vectors_after: [u128; 10],
    stack: u64,
    stack_after: u64,
    /// 0, 16, 32 or 48: what the stack pointer is modulo 64, negated, at the call.
    shift: u64,
    flags_after: u64,
    mxcsr: u32,
    mxcsr_after: u32,
    /// Whether XGETBV reports which state is in use; if so, which was after the call.
    in_use: u64,
    in_use_after: u64,
}

type Entry = unsafe extern "C" fn(*mut c_void);

macro_rules! observer {
    ($entry:literal, $argument:literal, $frame:literal,
     [$($save:literal)*], [$($check:literal)*], [$($restore:literal)*]) => {
        /// Calls `entry(argument)` and fills in `frame`.
        #[unsafe(naked)]
        unsafe extern "C" fn observe(entry: Entry, argument: *mut c_void, frame: *mut Frame) {
            naked_asm!(
                "push rbx", "push rbp", "push r12", "push r13", "push r14", "push r15", "push rdi",
                "push rsi",
                concat!("mov rax, ", $entry),
                concat!("mov r10, ", $argument),
                concat!("mov r11, ", $frame),
                // 0 shadow space of Windows, 32 frame, 40 stack pointer, 64 xmm6 to xmm15
                "mov r9, rsp",
                "sub rsp, 256",
                "and rsp, -64",
                "sub rsp, [r11+{shift}]",
                "mov [rsp+32], r11",
                "mov [rsp+40], r9",
                $($save,)*
                "cmp qword ptr [r11+{in_use}], 0",
                "je 2f",
                "vzeroupper",
                "2:",
                "stmxcsr [r11+{mxcsr}]",
                "mov rbx, [r11]", "mov rbp, [r11+8]", "mov r12, [r11+16]", "mov r13, [r11+24]",
                "mov r14, [r11+32]", "mov r15, [r11+40]", "mov rdi, [r11+48]", "mov rsi, [r11+56]",
                "mov [r11+{stack}], rsp",
                concat!("mov ", $entry, ", r10"),
                "call rax",
                "mov r11, [rsp+32]",
                "mov [r11+{stack_after}], rsp",
                "pushfq",
                "pop [r11+{flags}]",
                "cld",
                "stmxcsr [r11+{mxcsr_after}]",
                "ldmxcsr [r11+{mxcsr}]",
                "mov [r11+{after}], rbx", "mov [r11+{after}+8], rbp", "mov [r11+{after}+16], r12",
                "mov [r11+{after}+24], r13", "mov [r11+{after}+32], r14",
                "mov [r11+{after}+40], r15", "mov [r11+{after}+48], rdi",
                "mov [r11+{after}+56], rsi",
                "cmp qword ptr [r11+{in_use}], 0",
                "je 3f",
                "mov ecx, 1",
                "xgetbv",
                "mov [r11+{in_use_after}], rax",
                "vzeroupper",
                "3:",
                $($check,)*
                $($restore,)*
                "mov rsp, [rsp+40]",
                "pop rsi", "pop rdi", "pop r15", "pop r14", "pop r13", "pop r12", "pop rbp",
                "pop rbx",
                "ret",
                shift = const offset_of!(Frame, shift),
                in_use = const offset_of!(Frame, in_use),
                in_use_after = const offset_of!(Frame, in_use_after),
                stack = const offset_of!(Frame, stack),
                stack_after = const offset_of!(Frame, stack_after),
                flags = const offset_of!(Frame, flags_after),
                mxcsr = const offset_of!(Frame, mxcsr),
                mxcsr_after = const offset_of!(Frame, mxcsr_after),
                after = const offset_of!(Frame, general_after),
            )
        }
    };
}

#[cfg(not(windows))]
observer!("rdi", "rsi", "rdx", [], [], []);

#[cfg(windows)]
observer!(
    "rcx", "rdx", "r8",
    [
        "movups [rsp+64], xmm6" "movups [rsp+80], xmm7" "movups [rsp+96], xmm8"
        "movups [rsp+112], xmm9" "movups [rsp+128], xmm10" "movups [rsp+144], xmm11"
        "movups [rsp+160], xmm12" "movups [rsp+176], xmm13" "movups [rsp+192], xmm14"
        "movups [rsp+208], xmm15"
        // Vectors follow the eight general registers of the frame.
        "movups xmm6, [r11+64]" "movups xmm7, [r11+80]" "movups xmm8, [r11+96]"
        "movups xmm9, [r11+112]" "movups xmm10, [r11+128]" "movups xmm11, [r11+144]"
        "movups xmm12, [r11+160]" "movups xmm13, [r11+176]" "movups xmm14, [r11+192]"
        "movups xmm15, [r11+208]"
    ],
    [
        "movups [r11+{after}+64], xmm6" "movups [r11+{after}+80], xmm7"
        "movups [r11+{after}+96], xmm8" "movups [r11+{after}+112], xmm9"
        "movups [r11+{after}+128], xmm10" "movups [r11+{after}+144], xmm11"
        "movups [r11+{after}+160], xmm12" "movups [r11+{after}+176], xmm13"
        "movups [r11+{after}+192], xmm14" "movups [r11+{after}+208], xmm15"
    ],
    [
        "movups xmm6, [rsp+64]" "movups xmm7, [rsp+80]" "movups xmm8, [rsp+96]"
        "movups xmm9, [rsp+112]" "movups xmm10, [rsp+128]" "movups xmm11, [rsp+144]"
        "movups xmm12, [rsp+160]" "movups xmm13, [rsp+176]" "movups xmm14, [rsp+192]"
        "movups xmm15, [rsp+208]"
    ]
);

/// Whether XGETBV with ECX = 1 works, which says what vector state is in use. (Emulators may have
/// it and always say that all is.)
#[allow(unused_unsafe, reason = "CPUID is safe from Rust 1.94 on")]
fn tells_what_is_in_use() -> bool {
    use core::arch::x86_64::{__cpuid, __cpuid_count};
    // SAFETY: leaf 13 is read only where it exists.
    unsafe {
        __cpuid(0).eax >= 13
            && __cpuid(1).ecx >> 27 & 1 == 1
            && __cpuid_count(13, 1).eax >> 2 & 1 == 1
            && __cpuid(1).ecx >> 28 & 1 == 1
            && in_use_when_clean() >> 2 & 1 == 0
    }
}

/// What XGETBV reports once the upper halves have been cleared.
#[unsafe(naked)]
unsafe extern "C" fn in_use_when_clean() -> u32 {
    naked_asm!("vzeroupper", "mov ecx, 1", "xgetbv", "ret")
}

/// What `entry(argument)` changed that it may not; nothing if all is well.
fn damage(entry: Entry, argument: *mut c_void, shift: u64) -> Vec<String> {
    let poison = |i: usize| 0xdead_beef_0000_0000_u64.wrapping_mul(2 * i as u64 + 1) + i as u64;
    let mut frame = Frame {
        general: std::array::from_fn(poison),
        vectors: std::array::from_fn(|i| u128::from(poison(20 + i)) << 64 | 3),
        general_after: [0; 8],
        vectors_after: [0; 10],
        stack: 0,
        stack_after: 0,
        shift,
        flags_after: 0,
        mxcsr: 0,
        mxcsr_after: 0,
        in_use: tells_what_is_in_use().into(),
        in_use_after: 0,
    };
    // SAFETY: the entry is one of those below, with its argument.
    unsafe { observe(entry, argument, &raw mut frame) };
    assert_eq!(frame.stack % 64, (64 - shift) % 64);
    let mut damage = Vec::new();
    for (i, name) in NAMES.iter().enumerate().take(GENERAL) {
        if frame.general[i] != frame.general_after[i] {
            damage.push((*name).to_string());
        }
    }
    if cfg!(windows) {
        for i in (0..10).filter(|&i| frame.vectors[i] != frame.vectors_after[i]) {
            damage.push(format!("xmm{}", 6 + i));
        }
    }
    if frame.stack != frame.stack_after {
        damage.push("rsp".into());
    }
    if frame.flags_after >> 10 & 1 == 1 {
        damage.push("direction flag".into());
    }
    // The low six bits are sticky exceptions, which no one owns.
    if (frame.mxcsr ^ frame.mxcsr_after) & !0x3f != 0 {
        damage.push("mxcsr".into());
    }
    // Bit 2 is the upper half of ymm0 to ymm15, as in XCR0.
    if frame.in_use_after >> 2 & 1 == 1 {
        damage.push("upper halves in use".into());
    }
    damage
}

fn check(name: &str, closure: Closure<'_>) {
    for shift in [0, 16, 32, 48] {
        let damage = through_a_closure(closure, shift);
        assert!(damage.is_empty(), "{name} changes {damage:?}");
    }
}

fn through_a_closure(mut closure: Closure<'_>, shift: u64) -> Vec<String> {
    damage(call, (&raw mut closure).cast(), shift)
}

macro_rules! vandals {
    ($($name:ident: $reported:literal, $($line:literal)*;)*) => {
        $(#[unsafe(naked)]
        unsafe extern "C" fn $name(_: *mut c_void) {
            naked_asm!($($line,)* "ret")
        })*
        const VANDALS: &[(&str, Entry)] = &[$(($reported, $name as Entry)),*];
    };
}

vandals! {
    rbx: "rbx", "xor ebx, ebx";
    rbp: "rbp", "inc rbp";
    r12: "r12", "inc r12";
    r13: "r13", "inc r13";
    r14: "r14", "inc r14";
    r15: "r15", "inc r15";
    direction: "direction flag", "std";
    rounding: "mxcsr", "sub rsp, 8" "stmxcsr [rsp]" "xor dword ptr [rsp], 0x2000" "ldmxcsr [rsp]"
        "add rsp, 8";
}

/// The check itself: it must see damage.
#[test]
fn damage_is_seen() {
    unsafe extern "C" fn nothing(_: *mut c_void) {}
    assert_eq!(damage(nothing, core::ptr::null_mut(), 0), [""; 0]);
    // What sanitizers put around the closure uses registers, and so restores them.
    let is_sanitized = option_env!("RUSTFLAGS").is_some_and(|flags| flags.contains("sanitizer"));
    if is_sanitized {
        println!(
            "SKIPPED: damage through a closure: a sanitizer's code around it restores registers"
        );
    }
    for (reported, entry) in VANDALS {
        assert_eq!(damage(*entry, core::ptr::null_mut(), 16), [*reported]);
        // Also through the closure's layer: it must not put right what a kernel does wrong.
        // SAFETY: the argument is not looked at.
        let mut closure = || unsafe { entry(core::ptr::null_mut()) };
        assert!(is_sanitized || through_a_closure(&mut closure, 0) == [*reported], "{reported}");
    }
    if tells_what_is_in_use() {
        assert_eq!(damage(upper, core::ptr::null_mut(), 0), ["upper halves in use"]);
    }
}

/// Leaves the upper half of a register in use.
#[unsafe(naked)]
unsafe extern "C" fn upper(_: *mut c_void) {
    naked_asm!("vpcmpeqd xmm0, xmm0, xmm0", "vinsertf128 ymm0, ymm0, xmm0, 1", "ret")
}

#[test]
fn every_entry_keeps_what_is_the_callers() {
    if !tells_what_is_in_use() {
        println!("SKIPPED: upper halves of registers: this CPU does not tell");
    }
    every_entry(check);
}

/// What a routine of assembly gets, by the convention of System V. (That is theirs under Windows too, but not
/// [`observe`]'s.)
#[cfg(not(windows))]
#[repr(C)]
struct Routine {
    entry: *const (),
    arguments: [*const u8; 6],
}

/// Continues at the routine, so that no compiled code is between it and [`observe`], which would restore
/// what the routine has changed.
#[cfg(not(windows))]
#[unsafe(naked)]
unsafe extern "C" fn go_on(_: *mut c_void) {
    naked_asm!(
        "mov rax, rdi",
        "mov rdi, [rax+8]",
        "mov rsi, [rax+16]",
        "mov rdx, [rax+24]",
        "mov rcx, [rax+32]",
        "mov r8, [rax+40]",
        "mov r9, [rax+48]",
        "jmp [rax]",
    )
}

/// The routines by themselves: compiled code around them saves registers of its own caller, and hides
/// what they do to them.
#[cfg(not(windows))]
#[test]
fn assembly_keeps_what_is_the_callers() {
    #[repr(align(64))]
    struct Room([u8; 8192]);

    let mut rooms: [Room; 4] = [const { Room([0; 8192]) }; 4];
    let [a, b, c, d] = rooms.each_mut().map(|room| room.0.as_mut_ptr().cast_const());
    let inputs = [a; 32];
    let lanes = [a, b, c, d, a, b];
    let gathered = [inputs.as_ptr().cast(), core::ptr::null(), b, c, d, a];
    let steps = core::ptr::without_provenance(3);
    let run = [a, b, inputs.as_ptr().cast(), inputs.as_ptr().cast(), steps, core::ptr::null()];
    let routines: [(&str, &str, *const (), _); 19] = [
        ("avx512-intel", "compress", avx512_pair::compress as _, lanes),
        ("avx512-intel", "compress_xof", avx512_pair::compress_xof as _, lanes),
        ("avx512-intel", "load", avx512_pair::load as _, gathered),
        ("avx512-intel", "blocks_32", avx512_pair::blocks_32 as _, run),
        ("avx512-intel", "blocks_16", avx512::blocks_16 as _, run),
        ("avx512-intel", "blocks_16_held", avx512::blocks_16_held as _, run),
        ("avx512-intel", "output_16", avx512::output_16 as _, lanes),
        ("avx512-intel", "compress_xof_8", avx512::compress_xof_8 as _, lanes),
        ("avx512-intel", "compress_8", avx512::compress_8 as _, lanes),
        ("avx512-intel", "blocks_8", avx512::blocks_8 as _, run),
        ("avx2-common", "blocks_8", sse_avx2::blocks_8 as _, run),
        ("sse41", "blocks_4", sse_avx2::blocks_4 as _, run),
        ("avx2-common", "compress_8", sse_avx2::compress_8 as _, lanes),
        ("avx2-common", "compress_xof_8", sse_avx2::compress_xof_8 as _, lanes),
        ("sse41", "compress_4", sse_avx2::compress_4 as _, lanes),
        ("sse41", "compress_xof_4", sse_avx2::compress_xof_4 as _, lanes),
        ("sse2", "blocks_sse2_4", sse_avx2::blocks_sse2_4 as _, run),
        ("sse2", "compress_sse2_4", sse_avx2::compress_sse2_4 as _, lanes),
        ("sse2", "compress_xof_sse2_4", sse_avx2::compress_xof_sse2_4 as _, lanes),
    ];
    for (kernel, name, entry, arguments) in routines {
        if !supported().any(|it| it.name() == kernel) {
            continue;
        }
        let mut routine = Routine { entry, arguments };
        for shift in [0, 16, 32, 48] {
            let mut damage = damage(go_on, (&raw mut routine).cast(), shift);
            // `load` leaves that to the next call.
            damage.retain(|it| name != "load" || it != "upper halves in use");
            assert!(damage.is_empty(), "{kernel} {name} changes {damage:?}");
        }
    }
}
