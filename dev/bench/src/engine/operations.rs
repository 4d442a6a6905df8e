//! Operations of a hasher and of a digest, written once for treewide and `blake3`, so that both sides do the same.

macro_rules! operations {
    ($lib:ident, unbuffered: $unbuffered:expr) => {
        fn operation(
            operation: $crate::work::Operation,
            input: &'static [u8],
            piece: usize,
        ) -> Option<Box<dyn $crate::engine::Task>> {
            use std::fmt::Write as _;
            use std::hint::black_box;
            use std::io::Write as _;
            use $crate::engine::repeated;
            use $crate::work::Operation;
            use $lib::{Hash, Hasher};

            let pieces = move || input.chunks(piece.max(1));
            let digests = move || {
                let bytes = input.as_chunks().0.iter();
                bytes.map(|bytes| Hash::from_bytes(*black_box(bytes)))
            };
            let fed = move |mut hasher: Hasher| {
                pieces().for_each(|piece| _ = hasher.update(black_box(piece)));
                hasher
            };
            match operation {
                Operation::Update => repeated(move || fed(Hasher::new()).finalize()),
                Operation::Unbuffered => {
                    repeated(move || fed($unbuffered(Hasher::new())).finalize())
                }
                // A header before each piece, as of a tar.
                Operation::Records => repeated(move || {
                    let mut hasher = Hasher::new();
                    for piece in pieces() {
                        hasher.update(&piece[..512]).update(&piece[512..]);
                    }
                    hasher.finalize()
                }),
                Operation::Digests => repeated(move || {
                    let mut hasher = Hasher::new();
                    for piece in pieces() {
                        black_box(hasher.update(piece).finalize());
                    }
                    hasher.finalize()
                }),
                Operation::Clone => {
                    let mut hasher = Hasher::new();
                    [1; 100_000].chunks(piece).for_each(|piece| _ = hasher.update(piece));
                    repeated(move || black_box(&hasher).clone().update(input).finalize())
                }
                Operation::Read => {
                    let mut out = vec![0; input.len()];
                    repeated(move || {
                        let mut reader = Hasher::new().update(&[7; 32]).finalize_xof();
                        out.chunks_mut(piece).for_each(|out| reader.fill(black_box(out)));
                        [out[0], out[out.len() - 1]]
                    })
                }
                Operation::Reader => {
                    repeated(move || Hasher::new().update_reader(input).expect("memory").finalize())
                }
                Operation::Twice => repeated(move || {
                    let mut hasher = Hasher::new();
                    hasher.update(input).finalize();
                    black_box(&mut hasher).reset();
                    hasher.update(input).finalize()
                }),
                Operation::Rayon => repeated(move || Hasher::new().update_rayon(input).finalize()),
                Operation::Mmap => {
                    let mut file = tempfile::NamedTempFile::new().ok()?;
                    file.write_all(input).ok()?;
                    repeated(move || {
                        Hasher::new().update_mmap(file.path()).expect("a file").finalize()
                    })
                }
                Operation::ToHex => repeated(move || {
                    digests().fold(0_u8, |sum, it| sum ^ black_box(it.to_hex()).as_bytes()[0])
                }),
                Operation::Display => repeated(move || {
                    let mut text = String::with_capacity(64);
                    for digest in digests() {
                        text.clear();
                        write!(text, "{digest}").expect("room");
                    }
                    text.as_bytes()[0]
                }),
                Operation::FromHex => {
                    let text: Vec<_> = digests().map(|digest| digest.to_hex()).collect();
                    repeated(move || {
                        let read = |text| Hash::from_hex(black_box(text)).expect("digits");
                        text.iter().fold(0_u8, |sum, it| sum ^ read(it.as_str()).as_bytes()[0])
                    })
                }
                Operation::Equal => {
                    let one = digests().last()?;
                    repeated(move || digests().filter(|digest| *digest == one).count() as u8)
                }
            }
        }
    };
}
pub(super) use operations;
