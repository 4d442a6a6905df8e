//! Names of algorithms in options.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::ffi::OsStr;
use treewide_digests::Algorithm;

const CRC32: &str = "crc32";

/// A line with 8 digits, and with some that are damaged, may be a line of prose.
const WHY_NOT_CRC32: &str = "the 8 digits of a CRC-32 could be a word or a number, so check reads them only in lists called NAME.sfv";

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
        let takes = self.0;
        let name = if asked == CRC32 { OsStr::new(CRC32) } else { name };
        let known = self.all().map(PossibleValue::new);
        PossibleValuesParser::new(known.chain([PossibleValue::new(CRC32).hide(true)]))
            .try_map(move |name| match Algorithm::named(&name).filter(takes) {
                Some(algorithm) => Ok(algorithm),
                None => Err(WHY_NOT_CRC32),
            })
            .parse_ref(command, arg, name)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.all().map(PossibleValue::new)))
    }
}
