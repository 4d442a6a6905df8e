//! Names of algorithms in options.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::ffi::OsStr;
use treewide_digests::Algorithm;

/// Reads the names of algorithms that lines of lists can name.
pub(crate) fn of_lines() -> Names {
    parser(|it| it.tag().is_some())
}

/// Reads the names of algorithms for which `takes` is true.
pub(crate) fn parser(takes: fn(&Algorithm) -> bool) -> Names {
    Names(takes)
}

/// Reads names in any case, with and without dashes.
#[derive(Clone)]
pub(crate) struct Names(fn(&Algorithm) -> bool);

impl Names {
    fn all(&self) -> impl Iterator<Item = &'static str> {
        Algorithm::ALL.iter().filter(|it| self.0(it)).map(|it| it.name())
    }
}

impl TypedValueParser for Names {
    type Value = Algorithm;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Algorithm, clap::Error> {
        let plain = |name: &str| name.to_ascii_lowercase().replace(['-', '/'], "");
        let asked = plain(&value.to_string_lossy());
        let name = self.all().find(|it| plain(it) == asked).map_or(value, OsStr::new);
        PossibleValuesParser::new(self.all())
            .try_map(|name| Algorithm::named(&name).ok_or("there is no such algorithm"))
            .parse_ref(command, arg, name)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.all().map(PossibleValue::new)))
    }
}
