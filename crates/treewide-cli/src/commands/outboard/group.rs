//! Which outboard a file has: the size of its groups, which its name says.

use clap::Args;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use treewide::outboard::Group;
use treewide_files::name::shown;
use treewide_files::size;

#[derive(Args)]
#[command(next_help_heading = "Outboard")]
pub(super) struct GroupArgs {
    /// The bytes of a group: a power of two from 1K to 64M [default: by the name of the outboard, or 16K]
    ///
    /// An outboard has 64 bytes for each group. A range is verified in whole groups.
    #[arg(long, value_name = "SIZE", value_parser = parse)]
    group: Option<Group>,
}

pub(super) fn parse(text: &str) -> Result<Group, String> {
    let group = Group::of_bytes(size::parse(text)?);
    group.ok_or_else(|| "a group has a power of two of bytes, from 1K to 64M".to_owned())
}

impl GroupArgs {
    /// The group that was asked for; else the one that the name says; else the usual one.
    pub(super) fn of(&self, name: Option<&Path>) -> Group {
        self.group.or_else(|| of_name(name?)).unwrap_or_default()
    }

    /// The outboard of `data`, and its group: the outboard that was named, or else the only one by its name.
    pub(super) fn find(
        &self,
        data: &Path,
        named: Option<&Path>,
    ) -> anyhow::Result<(PathBuf, Group)> {
        if let Some(named) = named {
            return Ok((named.to_owned(), self.of(Some(named))));
        }
        let groups = (0..=Group::MOST.log2()).filter_map(Group::new);
        let wanted = groups.filter(|group| self.group.is_none_or(|wanted| wanted == *group));
        let mut found = wanted.map(|group| (path(data, group), group)).filter(|it| it.0.exists());
        match (found.next(), found.next()) {
            (Some(only), None) => Ok(only),
            (None, _) if of_name(data).is_some() => {
                anyhow::bail!("{}: is an outboard; name its file", shown(data))
            }
            (None, _) => anyhow::bail!(
                "{}: has no outboard {}; make it with 'treewide outboard create', or name it with --outboard",
                shown(data),
                shown(&path(data, self.of(None))),
            ),
            (Some((one, _)), Some((two, _))) => anyhow::bail!(
                "{}: has more than one outboard; name {} or {} with --outboard",
                shown(data),
                shown(&one),
                shown(&two),
            ),
        }
    }
}

/// The ending of the name: `obao4` for groups of 2^4 KiB, as iroh has it.
pub(super) fn ending(group: Group) -> String {
    format!("obao{}", group.log2())
}

/// The group that the ending of a name says.
pub(super) fn of_name(path: &Path) -> Option<Group> {
    let named = path.extension()?.to_str()?;
    (0..=Group::MOST.log2()).filter_map(Group::new).find(|group| ending(*group) == named)
}

/// The usual name of the outboard of `data`.
pub(super) fn path(data: &Path, group: Group) -> PathBuf {
    let mut path = OsString::from(data);
    path.push(".");
    path.push(ending(group));
    path.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_the_group_of_an_outboard() {
        for group in (0..=Group::MOST.log2()).filter_map(Group::new) {
            let path = path(Path::new("a/disk.img"), group);
            assert_eq!(of_name(&path), Some(group), "{path:?}");
        }
        assert_eq!(path(Path::new("x"), Group::default()), Path::new("x.obao4"));
        for name in ["x", "x.obao", "x.obao17", "x.obao04", "x.obao4-post", "x.bao", "obao4"] {
            assert_eq!(of_name(Path::new(name)), None, "{name}");
        }
    }
}
