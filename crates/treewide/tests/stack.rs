//! How much stack each public call takes, with every kernel. A test of its own, as a call that takes too much ends the whole process.
#![cfg(all(unix, feature = "std"))]

mod common;
mod reference;

use std::fmt::Write as _;
use std::{hint, mem, ptr};

use common::{Random, Tally, with_every_kernel};
use treewide::hazmat::groups;
use treewide::{Batch, Hash, Hasher, Mode, hash_many, merkle};

/// Kilobytes that a call takes at most, and those of the threads in which all of them work. Without optimisation the compiler
/// keeps all that ever was in a function, and batches of unequal blobs take 45.
const MOST: usize = if cfg!(debug_assertions) { 46 } else { 28 };
const THREAD: usize = if cfg!(debug_assertions) { 64 } else { 32 };

/// `f` on a thread with that many bytes of stack; returns how many of them it used.
fn on_stack<F: FnOnce()>(bytes: usize, f: F) -> usize {
    extern "C" fn run<F: FnOnce()>(f: *mut libc::c_void) -> *mut libc::c_void {
        // SAFETY: what is given below, once.
        unsafe { ptr::read(f.cast::<F>())() };
        ptr::null_mut()
    }
    const UNUSED: u8 = 0xa5;
    let mut f = mem::ManuallyDrop::new(f);
    // SAFETY: the memory outlives the thread, which is awaited, and which alone uses `f`.
    unsafe {
        let page = 4096;
        let map = |len, protection| {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(ptr::null_mut(), len, protection, flags, -1, 0)
        };
        let stack = map(page + bytes, libc::PROT_READ | libc::PROT_WRITE);
        assert_ne!(stack, libc::MAP_FAILED);
        assert_eq!(libc::mprotect(stack, page, libc::PROT_NONE), 0, "what overflows, fails");
        let stack = stack.add(page);
        ptr::write_bytes(stack.cast::<u8>(), UNUSED, bytes);
        let (mut attributes, mut thread) = (mem::zeroed(), mem::zeroed());
        libc::pthread_attr_init(&mut attributes);
        assert_eq!(libc::pthread_attr_setstack(&mut attributes, stack, bytes), 0);
        let f = ptr::from_mut(&mut f).cast();
        assert_eq!(libc::pthread_create(&mut thread, &attributes, run::<F>, f), 0);
        libc::pthread_join(thread, ptr::null_mut());
        libc::pthread_attr_destroy(&mut attributes);
        let unused = (0..bytes).take_while(|at| *stack.cast::<u8>().add(*at) == UNUSED).count();
        libc::munmap(stack.sub(page), page + bytes);
        bytes - unused
    }
}

type Call<'a> = (&'static str, Box<dyn Fn() + 'a>);

/// Every public call that hashes.
fn calls<'a>(bytes: &'a [u8], blobs: &'a [&'a [u8]]) -> Vec<Call<'a>> {
    let leaves = bytes.as_chunks::<32>().0;
    let fed = |len: usize, piece: usize| {
        let mut hasher = Hasher::new();
        bytes[..len].chunks(piece).for_each(|piece| _ = hasher.update(piece));
        hasher
    };
    macro_rules! calls {
        ($($name:literal: $call:expr),* $(,)?) => {
            vec![$(($name, Box::new(move || _ = hint::black_box($call)) as Box<dyn Fn()>)),*]
        };
    }
    let mut calls = calls![
        "hash of 64 B": treewide::hash(&bytes[..64]),
        "hash of 4 KB": treewide::hash(&bytes[..4000]),
        "hash of 100 KB": treewide::hash(&bytes[..100_000]),
        "hash of 1 MB": treewide::hash(bytes),
        "keyed_hash": treewide::keyed_hash(&[7; 32], &bytes[..100_000]),
        "derive_key": treewide::derive_key("tests", &bytes[..100_000]),
        "const_hash": treewide::const_hash(&bytes[..3000]),
        "update": fed(bytes.len(), bytes.len()),
        "update by 1,000 B": fed(200_000, 1000).finalize(),
        "update by 20,000 B": fed(bytes.len(), 20_000).finalize(),
        "clone": fed(20_000, 300).clone(),
        "update_reader": Hasher::new().update_reader(bytes).map(|hasher| hasher.count()),
        "finalize_xof": fed(20_000, 300).finalize_xof().fill(&mut vec![0; 100_000]),
        "to_state": Hasher::from_state(fed(20_000, 300).to_state().as_bytes()).is_ok(),
        "hash_many, few": hash_many(&blobs[..3]),
        "hash_many, equal": hash_many(&vec![&bytes[..300]; 1000]),
        "hash_many, blocks": hash_many(&vec![&bytes[..64]; 1000]),
        "hash_many, unequal": hash_many(blobs),
        "Batch::bytes": Batch::new().output_len(100).bytes(blobs),
        "Batch::iter": Batch::new().iter(blobs).count(),
        "Batch::for_each": Batch::new().output_len(40).for_each(blobs, |_, _| ()),
        "merkle::root": merkle::root(leaves),
        "merkle::Tree": merkle::Tree::new(&leaves[..5000]).proof(3),
        "groups::of": groups::chaining_values(bytes, 16, Mode::PLAIN),
        "groups of 2 MB": groups::chaining_values(bytes, 2048, Mode::PLAIN),
        "explain": treewide::explain(1 << 40).to_string(),
    ];
    #[cfg(feature = "rayon")]
    calls.extend(calls![
        "hash_parallel": treewide::hash_parallel(bytes),
        "hash_many on threads": Batch::new().threads(4).hash(blobs),
        "merkle::root_parallel": merkle::root_parallel(leaves),
        "fill_parallel": fed(100, 100).finalize_xof().fill_parallel(&mut vec![0; 2 << 20]),
    ]);
    calls
}

#[test]
fn stack_of_every_call() {
    let mut tally = Tally::new("stack of every call");
    let mut random = Random::new(33);
    let bytes = random.bytes((1 << 20) + 70_000);
    let mut lens: Vec<usize> = (0..400).map(|_| random.below(3000)).collect();
    lens[200] = bytes.len();
    let blobs: Vec<&[u8]> = lens.iter().map(|len| &bytes[..*len]).collect();
    let expected = Hash::from_bytes(*blake3::hash(&bytes).as_bytes());
    let (mut table, mut over) = (String::new(), Vec::new());
    let nothing = on_stack(1 << 20, || ());
    with_every_kernel(|kernel| {
        for (name, call) in calls(&bytes, &blobs) {
            let used = on_stack(1 << 20, &call) - nothing;
            writeln!(table, "{used:>8} {kernel:<20} {name}").expect("a string");
            if used > MOST << 10 {
                over.push((kernel.to_owned(), name, used));
            }
            tally.case();
        }
    });
    println!("{table}");
    assert!(over.is_empty(), "more than {MOST} KiB: {over:#?}");
    // Some systems have no smaller ones.
    let thread = (THREAD << 10).max(libc::PTHREAD_STACK_MIN);
    with_every_kernel(|_| {
        for (_, call) in calls(&bytes, &blobs) {
            on_stack(thread, &call);
        }
        on_stack(thread, || assert_eq!(hash_many(&blobs)[200], expected));
    });
}
