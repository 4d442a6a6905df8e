//! Headers, models of several files, lists and comparisons.

mod compare;
mod files;
mod gguf;
mod list;
mod model;
mod safetensors;
