//! The places of a manifest where something was or is mounted, and what was found below them.

use crate::format::manifest::Manifest;
use crate::format::name;
use crate::run::guard::like::{Found, Like};
use crate::tree::mounts;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use treewide_files::Stamp;

#[derive(Debug, Default)]
pub(crate) struct Mounts {
    places: Vec<Place>,
    /// Where something was mounted when the run began.
    at_begin: Vec<Vec<u8>>,
}

#[derive(Debug)]
struct Place {
    /// With a `/`, also if it is a file.
    name: Vec<u8>,
    was_mounted: bool,
    is_mounted: bool,
    /// The files and others below it.
    found: [Found; 2],
}

impl Mounts {
    pub(crate) fn new(old: &Manifest, dir: &Path) -> Self {
        let was = |it: Vec<u8>| Place::was([&it[..], b"/"].concat());
        let mut places: Vec<_> = old.mounts().into_iter().map(was).collect();
        // What is mounted now hides what was recorded below it.
        let at_begin = mounts::below(dir);
        for name in at_begin.iter().cloned() {
            match places.iter_mut().find(|it| it.name == name) {
                Some(place) => place.is_mounted = true,
                None => {
                    places.push(Place { was_mounted: false, is_mounted: true, ..Place::was(name) })
                }
            }
        }
        // The system does not list the ends of links that are followed.
        for place in places.iter_mut().filter(|it| !it.is_mounted) {
            place.is_mounted = is_on_another_device(dir, &place.name);
        }
        Self { places, at_begin }
    }

    /// Where something was mounted or unmounted since the run began, and whether it was mounted.
    pub(crate) fn changed(&self, dir: &Path) -> Vec<(Vec<u8>, bool)> {
        let now = mounts::below(dir);
        let new = now.iter().filter(|it| !self.at_begin.contains(it)).map(|it| (it.clone(), true));
        let off = self.at_begin.iter().filter(|it| !now.contains(it)).map(|it| (it.clone(), false));
        new.chain(off).collect()
    }

    /// A recorded path that is there.
    pub(crate) fn found(&mut self, name: &[u8], is_file: bool, like: Like) {
        self.of(name).for_each(|it| it.found[usize::from(!is_file)].add(1, like));
    }

    /// A recorded path that is gone.
    pub(crate) fn gone(&mut self, name: &[u8], is_file: bool) {
        self.of(name).for_each(|it| it.found[usize::from(!is_file)].gone += 1);
    }

    /// A recorded file that is there under another name.
    pub(crate) fn moved(&mut self, from: &[u8], to: &[u8], like: Like) {
        self.of(from).filter(|it| it.has(to)).for_each(|it| it.found[0].add(1, like));
    }

    /// Whether each place that has this name has a file that proves that it is the one.
    pub(crate) fn is_known(&self, name: &[u8]) -> bool {
        self.places.iter().filter(|it| it.has(name)).all(|it| it.found[0].is_known)
    }

    /// Whether something is mounted above this name, and nothing was.
    pub(crate) fn is_new(&self, name: &[u8]) -> bool {
        let mut places = self.places.iter().filter(|it| it.has(name)).peekable();
        places.peek().is_some() && places.all(|it| !it.was_mounted)
    }

    /// A place whose files are not there as they were, and whether something is mounted there now and was not.
    pub(crate) fn off(&self) -> Option<(PathBuf, bool)> {
        let place = self.places.iter().find(|it| it.is_other())?;
        Some((name::path(&place.name), !place.was_mounted))
    }

    /// The places where something was mounted and is still, and those where something is now, with a `/`.
    pub(crate) fn kept(&self, dir: &Path) -> BTreeSet<Vec<u8>> {
        let still =
            self.places.iter().filter(|it| it.was_mounted && is_on_another_device(dir, &it.name));
        mounts::below(dir).into_iter().chain(still.map(|it| it.name.clone())).collect()
    }

    fn of<'a>(&'a mut self, name: &'a [u8]) -> impl Iterator<Item = &'a mut Place> {
        self.places.iter_mut().filter(move |it| it.has(name))
    }
}

impl Place {
    fn was(name: Vec<u8>) -> Self {
        Self { name, was_mounted: true, is_mounted: false, found: Default::default() }
    }

    /// Whether it is this file, or it is a directory with this path.
    fn has(&self, name: &[u8]) -> bool {
        let is_it = self.name.strip_suffix(b"/") == Some(name);
        is_it || name.starts_with(&self.name) && *name != self.name
    }

    fn is_other(&self) -> bool {
        let [files, others] = self.found;
        match files.there + files.gone {
            0 => others.is_other(),
            _ if self.was_mounted != self.is_mounted => files.is_hidden(),
            _ => files.is_other(),
        }
    }
}

fn is_on_another_device(dir: &Path, name: &[u8]) -> bool {
    let path = dir.join(name::path(name.strip_suffix(b"/").unwrap_or(name)));
    let device = |path: &Path| Stamp::at(path, true).ok().map(|it| it.device);
    let parent = path.parent().and_then(device);
    device(&path).zip(parent).is_some_and(|(it, parent)| it != parent)
}
