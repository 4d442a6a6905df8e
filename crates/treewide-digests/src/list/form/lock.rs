//! Files that look like lists and are not: the digests in them are of archives that are not here, or of many files together.

use super::Form;
use crate::list::line::{Said, without_digest};

/// Names of such files, and the commands that compare them.
const COMMANDS: &[(&str, &str)] = &[
    ("package-lock.json", "npm ci"),
    ("npm-shrinkwrap.json", "npm ci"),
    ("yarn.lock", "yarn install"),
    ("pnpm-lock.yaml", "pnpm install"),
    ("Cargo.lock", "cargo fetch"),
    ("go.sum", "go mod verify"),
    ("poetry.lock", "poetry install"),
    ("uv.lock", "uv sync"),
    ("Pipfile.lock", "pipenv sync"),
    ("composer.lock", "composer install"),
];

#[derive(Debug)]
pub(super) struct Lock(Option<&'static str>);

impl Lock {
    pub(super) fn of(name: &str) -> Option<Self> {
        COMMANDS.iter().find(|(it, _)| *it == name).map(|(_, command)| Self(Some(*command)))
    }
}

impl Form for Lock {
    fn line(&mut self, _: &[u8], _: &mut Vec<Said>) {}

    fn end(&mut self, said: &mut Vec<Said>) {
        // Once, however often the end is asked for.
        said.extend(self.0.take().map(|command| {
            let cause =
                format!("not a list: its digests are of no files here; {command} uses them");
            Err(without_digest(b"", &cause))
        }));
    }

    fn may_end(&self) -> bool {
        true
    }
}
