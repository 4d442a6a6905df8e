//! Errors on a machine without a driver. The kernels and all that talks to the driver are
//! tested in `tests/`, with a driver for the CPU.

use crate::error::ErrorKind;

/// The stand-in for the driver has what is used of one, and nothing else.
#[test]
fn what_is_used_of_the_driver_is_looked_for_first() {
    let stand_in = include_str!("../../../kernels/cuda/host/driver.cpp");
    let functions = stand_in.lines().filter_map(|line| line.strip_prefix("extern \"C\" Result "));
    let mut functions: Vec<_> = functions.filter_map(|line| line.split('(').next()).collect();
    functions.sort_unstable();
    assert_eq!(super::api::USED.as_slice(), functions);
}

#[test]
fn no_driver_is_an_error_that_says_so() {
    let found = super::find();
    assert!(!found.is_empty());
    let usable = found.iter().filter(|it| it.problem.is_none()).count();
    if usable > 0 {
        println!("SKIPPED: a machine without a usable NVIDIA GPU: this one has {usable}");
    }
    for it in found.iter().filter(|it| it.problem.is_some()) {
        let problem = it.problem.as_ref().unwrap();
        assert!(matches!(problem.kind(), ErrorKind::NoDevice | ErrorKind::Unusable), "{problem}");
        assert!(!problem.to_string().is_empty());
        assert_eq!(super::open(it.index).map(|_| ()).unwrap_err().kind(), problem.kind());
    }
    let no_device = |kind| matches!(kind, ErrorKind::NoDevice | ErrorKind::Unusable);
    assert!(no_device(super::open(1000).map(|_| ()).unwrap_err().kind()));
}
