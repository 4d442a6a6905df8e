//! Names of algorithms in options.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use treewide_digests::Algorithm;

/// Reads the names of algorithms that lines of lists can name.
pub(crate) fn of_lines() -> impl TypedValueParser<Value = Algorithm> {
    parser(|it| it.tag().is_some())
}

/// Reads the names of algorithms for which `takes` is true.
pub(crate) fn parser(takes: fn(&Algorithm) -> bool) -> impl TypedValueParser<Value = Algorithm> {
    let all = Algorithm::ALL.iter().filter(|it| takes(it));
    PossibleValuesParser::new(all.map(|it| it.name()))
        .try_map(|name| Algorithm::named(&name).ok_or("there is no such algorithm"))
}
