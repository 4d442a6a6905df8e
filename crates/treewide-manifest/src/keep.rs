//! Files that runs write: a new manifest, the journal until it is complete, and outboards.

pub(crate) mod as_of;
pub(crate) mod draft;
pub(crate) mod forget;
pub mod journal;
pub(crate) mod located;
pub(crate) mod outboards;
pub(crate) mod past;
pub(crate) mod places;
