//! Groups of flags that several commands have: name, help text and effect together.

pub(crate) mod algorithm;
pub(crate) mod cover;
pub(crate) mod device;
pub(crate) mod input;
pub(crate) mod mode;
pub(crate) mod output;
pub(crate) mod read;
pub(crate) mod report;
pub(crate) mod threads;
pub(crate) mod walk;
