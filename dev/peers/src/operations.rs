//! Every operation that both crates have under one name: `treewide-peers operations`. The bar of all is 0.98.

use std::fs;

use crate::{KIB, compare};

/// A row: what it is called, how many bytes of the input it gets, and how it makes 32 bytes of them.
type Operation = (String, usize, Box<dyn Fn(&[u8]) -> [u8; 32]>);

const LENGTHS: &[usize] = &[
    0,
    1,
    16,
    32,
    63,
    64,
    65,
    128,
    200,
    256,
    512,
    1000,
    KIB,
    KIB + 1,
    2 * KIB,
    3 * KIB,
    4 * KIB,
    5 * KIB,
    8 * KIB,
    15 * KIB,
    16 * KIB,
    31 * KIB,
    32 * KIB,
    64 * KIB,
    256 * KIB,
    KIB * KIB,
];
const OUTPUTS: &[usize] =
    &[64, 131, 256, 512, KIB, 3 * KIB, 8 * KIB, 16 * KIB, 64 * KIB, KIB * KIB];
const LONG: &[usize] = &[128 * KIB, 256 * KIB, KIB * KIB, 16 * KIB * KIB];
/// Digests in one call, where an operation takes a nanosecond.
const DIGESTS: usize = 64;

/// The same in the words of one of the crates.
macro_rules! operations {
    ($name:ident) => {
        mod $name {
            use std::fmt::Write as _;
            use std::hint::black_box;

            use $name::{Hash, Hasher};

            use super::{DIGESTS, LENGTHS, LONG, OUTPUTS, Operation};

            fn digests(data: &[u8]) -> impl Iterator<Item = Hash> {
                data.as_chunks().0.iter().map(|bytes| Hash::from_bytes(*black_box(bytes)))
            }

            pub(super) fn all(file: &std::path::Path) -> Vec<Operation> {
                let mut all: Vec<Operation> = Vec::new();
                let mut row = |name: String, bytes, call: Box<dyn Fn(&[u8]) -> [u8; 32]>| {
                    all.push((name, bytes, call));
                };
                for &len in LENGTHS {
                    row(format!("hash {len}"), len, Box::new(|data| $name::hash(data).into()));
                    row(
                        format!("keyed_hash {len}"),
                        len,
                        Box::new(|data| $name::keyed_hash(&[7; 32], data).into()),
                    );
                    row(
                        format!("derive_key {len}"),
                        len,
                        Box::new(|data| $name::derive_key("treewide 2026 peers", data)),
                    );
                    row(
                        format!("update_reader {len}"),
                        len,
                        Box::new(|data| {
                            Hasher::new().update_reader(data).expect("memory").finalize().into()
                        }),
                    );
                    row(
                        format!("update twice, finalize, reset {len}"),
                        len,
                        Box::new(|data| {
                            let mut hasher = Hasher::new();
                            hasher.update(data).finalize();
                            black_box(&mut hasher).reset();
                            hasher.update(data).finalize().into()
                        }),
                    );
                }
                for &len in OUTPUTS {
                    let out = std::cell::RefCell::new(vec![0; len]);
                    row(
                        format!("fill {len}"),
                        32,
                        Box::new(move |data| {
                            let out = &mut out.borrow_mut()[..];
                            Hasher::new().update(data).finalize_xof().fill(out);
                            out[..32].try_into().expect("32 bytes")
                        }),
                    );
                }
                for &len in LONG {
                    row(
                        format!("update_rayon {len}"),
                        len,
                        Box::new(|data| Hasher::new().update_rayon(data).finalize().into()),
                    );
                    let file = file.to_owned();
                    row(
                        format!("update_mmap {len}"),
                        len,
                        Box::new(move |data| {
                            let end = file.with_extension(data.len().to_string());
                            Hasher::new().update_mmap(end).expect("a file").finalize().into()
                        }),
                    );
                }
                let fed = Hasher::new().update(&[1; 100_000]).clone();
                row(
                    "clone".into(),
                    32,
                    Box::new(move |data| black_box(&fed).clone().update(data).finalize().into()),
                );
                row(
                    "to_hex".into(),
                    32 * DIGESTS,
                    Box::new(|data| {
                        let last = digests(data).map(|digest| black_box(digest.to_hex())).last();
                        last.expect("digests")[..32].as_bytes().try_into().expect("32 bytes")
                    }),
                );
                row(
                    "Display".into(),
                    32 * DIGESTS,
                    Box::new(|data| {
                        let mut text = String::with_capacity(64);
                        for digest in digests(data) {
                            text.clear();
                            write!(text, "{digest}").expect("room");
                        }
                        text.as_bytes()[..32].try_into().expect("32 bytes")
                    }),
                );
                let text = Hash::from([9; 32]).to_hex();
                row(
                    "from_hex".into(),
                    32 * DIGESTS,
                    Box::new(move |data| {
                        let mut digest = Hash::from([0; 32]);
                        for _ in 0..data.len() / 32 {
                            digest = Hash::from_hex(black_box(text.as_str())).expect("digits");
                        }
                        digest.into()
                    }),
                );
                row(
                    "==".into(),
                    32 * DIGESTS,
                    Box::new(|data| {
                        let one = Hash::from_bytes([3; 32]);
                        let equal = digests(data).filter(|digest| *digest == one).count();
                        [equal as u8; 32]
                    }),
                );
                all
            }
        }
    };
}
operations!(blake3);
operations!(treewide);

pub(crate) fn measure(input: &[u8], only: Option<&str>) {
    let file = std::env::temp_dir().join(format!("treewide-peers-{}", std::process::id()));
    for len in LONG {
        fs::write(file.with_extension(len.to_string()), &input[..*len]).expect("room for a file");
    }
    for ((name, bytes, ours), (_, _, theirs)) in
        treewide::all(&file).into_iter().zip(blake3::all(&file))
    {
        if only.is_none_or(|only| name.contains(only)) {
            compare(&name, [&*ours, &*theirs], &input[..bytes], 0.98);
        }
    }
    for len in LONG {
        let _ = fs::remove_file(file.with_extension(len.to_string()));
    }
}
