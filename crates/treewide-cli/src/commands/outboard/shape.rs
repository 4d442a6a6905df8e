//! Which outboard a file has: the size of its groups, the order of its pairs, and its name.

use clap::Args;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use treewide::outboard::{Group, Layout, Order};
use treewide_files::size;

/// What an outboard is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) group: Group,
    pub(super) order: Order,
    /// Whether the outboard starts with the length of the data, as in the files of bao.
    pub(super) is_bao: bool,
}

#[derive(Args)]
#[command(next_help_heading = "Outboard")]
pub(super) struct ShapeArgs {
    /// The bytes of a group: a power of two from 1K to 64M [default: by the name of the outboard, or 16K]
    ///
    /// An outboard has 64 bytes for each group. A range is verified in whole groups.
    #[arg(long, value_name = "SIZE", value_parser = group)]
    group: Option<Group>,

    /// The order of the pairs: pre or post [default: by the name of the outboard, or pre]
    ///
    /// iroh and bao have pre. With post, only the end of the outboard changes when the file grows.
    #[arg(long, value_name = "ORDER", value_parser = order)]
    order: Option<Order>,

    /// An outboard of bao: groups of 1 KiB, and the length in front [default: by the name of the outboard]
    #[arg(long, conflicts_with_all = ["group", "order"])]
    bao: bool,
}

pub(super) fn group(text: &str) -> Result<Group, String> {
    let group = Group::of_bytes(size::parse(text)?);
    group.ok_or_else(|| "a group has a power of two of bytes, from 1K to 64M".to_owned())
}

fn order(text: &str) -> Result<Order, String> {
    match text {
        "pre" => Ok(Order::Pre),
        "post" => Ok(Order::Post),
        _ => Err("there are pre and post".to_owned()),
    }
}

impl ShapeArgs {
    /// What was asked for; what was not, the name says, or else it is as usual.
    pub(super) fn shape(&self, name: Option<&Path>) -> Shape {
        let named = name.and_then(Shape::of_name);
        if self.bao || self.group.is_none() && self.order.is_none() && named.is_some() {
            return match named {
                Some(named) if !self.bao => named,
                _ => Shape::BAO,
            };
        }
        let usual = named.filter(|named| !named.is_bao).unwrap_or(Shape::USUAL);
        Shape {
            group: self.group.unwrap_or(usual.group),
            order: self.order.unwrap_or(usual.order),
            is_bao: false,
        }
    }

    /// Whether a file of bao was asked for.
    pub(super) fn is_bao(&self) -> bool {
        self.bao
    }

    /// Whether anything was asked for.
    fn is_some(&self) -> bool {
        self.bao || self.group.is_some() || self.order.is_some()
    }

    /// The outboard of `data` that there is, and what it is like: the one that was named, or else the only one by its name.
    pub(super) fn find(
        &self,
        data: &Path,
        named: Option<&Path>,
    ) -> anyhow::Result<(PathBuf, Shape)> {
        if let Some(named) = named {
            return Ok((named.to_owned(), self.shape(Some(named))));
        }
        let candidates: Vec<(PathBuf, Shape)> = match self.is_some() {
            true => {
                let shape = self.shape(None);
                vec![(shape.path(data), shape)]
            }
            false => Shape::all().map(|shape| (shape.path(data), shape)).collect(),
        };
        let mut found = candidates.iter().filter(|(path, _)| path.exists());
        let shown = |path: &Path| treewide_files::name::shown(path);
        match (found.next(), found.next()) {
            (Some(only), None) => Ok(only.clone()),
            (None, _) if Shape::of_name(data).is_some() => {
                anyhow::bail!("{}: is an outboard; name its file", shown(data))
            }
            (None, _) => anyhow::bail!(
                "{}: has no outboard {}; make it with 'treewide outboard create', or name it with --outboard",
                shown(data),
                shown(&self.shape(None).path(data)),
            ),
            (Some((one, _)), Some((two, _))) => anyhow::bail!(
                "{}: has more than one outboard; name {} or {} with --outboard",
                shown(data),
                shown(one),
                shown(two),
            ),
        }
    }
}

impl Shape {
    const USUAL: Self = Self { group: Group::IROH, order: Order::Pre, is_bao: false };
    const BAO: Self = Self { group: Group::BAO, order: Order::Pre, is_bao: true };

    fn all() -> impl Iterator<Item = Self> {
        let groups = (0..=Group::MOST.log2()).filter_map(Group::new);
        let shapes = groups.flat_map(|group| {
            [Order::Pre, Order::Post].map(|order| Self { group, order, is_bao: false })
        });
        shapes.chain([Self::BAO])
    }

    /// The ending of the name: `obao4` for groups of 2^4 chunks in pre-order, as iroh has it.
    pub(super) fn ending(self) -> String {
        match (self.is_bao, self.order) {
            (true, _) => "obao".to_owned(),
            (false, Order::Pre) => format!("obao{}", self.group.log2()),
            (false, Order::Post) => format!("obao{}-post", self.group.log2()),
        }
    }

    /// What the ending of a name says.
    pub(super) fn of_name(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?;
        Self::all().find(|shape| shape.ending() == ending)
    }

    /// The usual name of the outboard of `data`.
    pub(super) fn path(self, data: &Path) -> PathBuf {
        let mut path = OsString::from(data);
        path.push(".");
        path.push(self.ending());
        path.into()
    }

    pub(super) fn layout(self, len: u64) -> Layout {
        Layout::new(len, self.group, self.order)
    }
}

/// Such as `groups of 16.00 KiB in pre-order`.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_bao {
            true => f.write_str("a file of bao"),
            false => {
                let group = indicatif::HumanBytes(self.group.bytes());
                write!(f, "groups of {group} in {}-order", self.order)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_an_outboard_is_like() {
        for shape in Shape::all() {
            let path = shape.path(Path::new("a/disk.img"));
            assert_eq!(Shape::of_name(&path), Some(shape), "{path:?}");
        }
        assert_eq!(Shape::USUAL.path(Path::new("x")), Path::new("x.obao4"));
        for name in ["x", "x.obao17", "x.obao04", "x.obao4-pre", "x.bao", "obao4"] {
            assert_eq!(Shape::of_name(Path::new(name)), None, "{name}");
        }
    }
}
