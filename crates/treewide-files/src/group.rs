//! Groups of files: what one thread hashes at a time.

use crate::error::ErrorKind;
use crate::options::Hashed;
use crate::task::Task;

/// Files and notes in the order in which their results are returned.
pub(crate) type Group<A, N> = Vec<Place<A, N>>;

/// A place in a group.
pub(crate) enum Place<A, N> {
    Note(N),
    File(Task<A>, Progressed),
}

impl<A, N> Place<A, N> {
    /// Leaves a file to be hashed alone, when its turn comes.
    pub(crate) fn leave_alone(&mut self) {
        if let Self::File(_, progressed) = self {
            *progressed = Progressed::Alone;
        }
    }
}

/// How far a file in a group has come.
pub(crate) enum Progressed {
    ToDo,
    Done(Result<Hashed, ErrorKind>),
    /// It is to be hashed alone, when its turn comes.
    Alone,
}
