//! NVIDIA GPUs.

use crate::driver::Driver;
use crate::{Error, ErrorKind, Found};
use std::sync::Arc;

/// The devices that the driver knows of, or one that says why there is none.
pub(crate) fn find() -> Vec<Found> {
    Vec::new()
}

/// The device of that number.
pub(crate) fn open(index: usize) -> Result<Arc<dyn Driver>, Error> {
    Err(Error::new(ErrorKind::NoDevice, format_args!("there is no device {index}")))
}
