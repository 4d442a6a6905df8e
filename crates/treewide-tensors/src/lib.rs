//! BLAKE3 digests of the tensors of a model, straight from safetensors and GGUF files; lists of them; and what differs
//! between two models.
//!
//! Headers are checked before anything is hashed, as those who load the files check them, or more strictly. The digest of a
//! tensor is that of its bytes, so it does not depend on the file it is in, nor on how the model is cut into files.
//!
//! ```
//! use treewide_tensors::{Model, Options, compare, list};
//!
//! # let dir = std::env::temp_dir().join("treewide-tensors-doc");
//! # std::fs::create_dir_all(&dir).unwrap();
//! # let path = dir.join("model.safetensors");
//! # let header = br#"{"bias":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}}"#;
//! # std::fs::write(&path, [&(header.len() as u64).to_le_bytes()[..], header, b"abc"].concat()).unwrap();
//! let model = Model::open(&path)?;
//! let tensors = model.digests(&Options::default())?;
//! assert_eq!(tensors["bias"].hash(), treewide::hash(b"abc"));
//!
//! std::fs::write(dir.join("model.tensors.b3"), list::text(&tensors))?;
//! let before = list::read(dir.join("model.tensors.b3"))?;
//! assert!(compare(&before, &tensors).is_same());
//! println!("fingerprint {}", list::fingerprint(&tensors));
//! # std::fs::remove_dir_all(&dir).unwrap();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The list is specified in [docs/formats.md](https://github.com/treewide/treewide/blob/main/docs/formats.md#lists-of-tensors).

#![forbid(unsafe_code)]

mod compare;
mod difference;
mod error;
pub mod header;
pub mod list;
mod model;
mod opening;
mod options;
mod ranges;
mod tensor;

pub use compare::{Comparison, Finding, Verdict, compare, strip};
pub use difference::{Difference, Rows, Values, difference};
pub use error::{Error, ErrorKind};
pub use model::Model;
pub use options::Options;
pub use tensor::{Tensor, TensorDigest, Tensors};
