//! How much stack batches and trees take: threads with no more than that hash all the same. A test of its
//! own, as one that fails ends the whole process.
#![cfg(feature = "std")]

mod common;
mod reference;

use common::{Random, Tally, rounds};
use treewide::{Batch, Hash, hash_many, merkle};

/// Kilobytes. Without optimisation the compiler keeps all that ever was in a function.
const STACK: usize = if cfg!(debug_assertions) { 512 } else { 96 };

/// `f` on a thread with that stack.
fn on_little_stack<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK << 10);
        thread.spawn_scoped(scope, f).expect("a thread").join().expect("no panic")
    })
}

#[test]
fn a_little_stack_is_enough() {
    let mut tally = Tally::new("a little stack is enough");
    let mut random = Random::new(33);
    let most = if rounds(10) < 10 { 200 << 10 } else { 8 << 20 };
    let bytes = random.bytes(most);
    let mut lens: Vec<usize> = (0..2000).map(|_| random.below(3000)).collect();
    lens[1000] = most;
    let blobs: Vec<&[u8]> = lens.iter().map(|len| &bytes[..*len]).collect();
    let leaves = bytes.as_chunks().0;
    let expected: Vec<Hash> =
        blobs.iter().map(|blob| Hash::from_bytes(*blake3::hash(blob).as_bytes())).collect();
    let first = |len: usize| -> Vec<u8> {
        expected.iter().flat_map(|hash| hash.as_bytes()[..len].to_vec()).collect()
    };
    let root = *merkle::Tree::new(leaves).nodes().last().expect("there are leaves");
    for kernel in treewide::kernel::all().iter().filter(|kernel| kernel.is_supported()) {
        treewide::kernel::force(kernel.name()).expect("supported");
        on_little_stack(|| {
            assert_eq!(hash_many(&blobs), expected);
            assert_eq!(Batch::new().output_len(20).bytes(&blobs), first(20));
            let long = Batch::new().output_len(100).bytes(&blobs);
            assert!(
                long.chunks(100).zip(&expected).all(|(out, hash)| out[..32] == *hash.as_bytes())
            );
            assert!(Batch::new().iter(&blobs).eq(expected.iter().copied()));
            assert_eq!(treewide::hash(&bytes), expected[1000]);
            assert_eq!(*merkle::root(leaves).as_bytes(), root);
        });
        tally.case();
    }
}
