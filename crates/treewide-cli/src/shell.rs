//! The interface to the shell that calls the program: streams, signals, the terminal, messages, exit codes.

pub(crate) mod again;
pub(crate) mod console;
pub(crate) mod descriptor;
pub(crate) mod inherited;
pub(crate) mod outcome;
pub(crate) mod output;
pub(crate) mod page;
pub(crate) mod program;
pub(crate) mod progress;
pub(crate) mod sheet;
pub(crate) mod signals;
pub(crate) mod stdin;
pub(crate) mod streams;
pub(crate) mod terminal;
pub(crate) mod tone;
pub(crate) mod usage;
pub(crate) mod version;
pub(crate) mod wording;
