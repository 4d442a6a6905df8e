"""Jobs: the options of the command, as they are named there."""

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from secrets import token_hex
from typing import Any, Literal

from treewide._scale.console import UsageError
from treewide._scale.progress import objects_text
from treewide._scale.sources import Store, path_of, scheme_of, source_of
from treewide._treewide import __version__, hexdigest

#: Names of options of stores that are not for files.
_SECRET = re.compile(r"key|secret|token|password|credential|sas|account", re.IGNORECASE)


@dataclass(frozen=True)
class Job:
    """The options of the command `sum`, `verify` or `update`, with their names.

    `run` is in each task and result, so that neither a cache of an engine nor an old folder answers for another run.
    """

    command: Literal["sum", "verify", "update"]
    urls: tuple[str, ...] = ()
    list: str | None = None
    output: str | None = None
    recursive: bool = False
    expect: str | None = None
    quick: bool = False
    outboards: str | None = None
    group: int | None = None
    inventory: str | None = None
    #: Options of the store.
    option: Mapping[str, Any] = field(default_factory=dict)
    accept_rot: tuple[str, ...] = ()
    accept_damage: bool = False
    allow_empty: bool = False
    max_removed: str = "50%"
    unpinned: bool = False
    run: str = field(default_factory=lambda: token_hex(8))

    def __post_init__(self) -> None:
        """Raise `UsageError` for an invalid limit, or a name that is empty."""
        self.loss(1, 0, 0)
        if "" in (*self.urls, self.list, self.output, self.inventory):
            raise UsageError("the name of a URL, a list or an output is empty: is a variable of the shell not set?")

    def loss(self, left: int, gone: int, recorded: int | None) -> str | None:
        """Return why a list of `left` objects does not replace one, if there is one, whose objects are `gone` now."""
        found = re.fullmatch(r"(\d+(?:\.\d+)?)%|(\d{1,18})", self.max_removed, re.ASCII)
        if found is None or float(found[1] or 0) > 100:
            raise UsageError(f"--max-removed {self.max_removed}: is neither a percentage (10%) nor a number of objects")
        if not left and not self.allow_empty and recorded != 0:
            return "nothing is there or could be hashed; --allow-empty writes it"
        if not left or gone <= ((recorded or 0) * float(found[1]) / 100 if found[1] else int(found[2])):
            return None
        return f"{gone:,} of {objects_text(recorded or 0)} are gone: is this the right store? --max-removed allows more"

    def key(self, lists: bytes, urls: Iterable[str] = ()) -> str:
        """Return the name of a folder, common to jobs that do the same with these objects and lists of this digest."""
        there = {
            it: os.environ.get(it) for it in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT", "AWS_PROFILE")
        }
        named = (*urls, *self.urls, self.list, self.output, self.inventory, self.outboards)
        what = {**asdict(self), "run": None, "here": here(*named), "there": there}
        what |= {"version": __version__, "lists": lists.hex()}
        return hexdigest(json.dumps(what, sort_keys=True, default=str).encode(), length=16)

    def to_json(self) -> str:
        """Return it as text. Raises `UsageError` if an option is a secret, which belongs in no file."""
        for name in self.option:
            if _SECRET.search(name):
                raise UsageError(
                    f"--option {name}: is a secret, which would be in a file; set it where workers find it"
                )
        return json.dumps(asdict(self))

    @classmethod
    def of_json(cls, text: str) -> "Job":
        """Return what `to_json` made. Raises `ValueError` if it is something else."""
        found = json.loads(text)
        if not isinstance(found, dict) or not {it.name for it in fields(cls)} >= found.keys() >= {"command", "run"}:
            raise ValueError("this is not a job of treewide scale")
        return cls(**tuples(found))


def tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields whose lists are tuples again, as they were before JSON."""
    return {name: tuple(it) if isinstance(it, list) else it for name, it in fields.items()}


def here(*named: str | None) -> str | None:
    """Return the directory that paths are relative to, if one of these is a relative path."""
    files = [path_of(it) for it in named if it is not None and scheme_of(it) == "file"]
    return None if all(map(os.path.isabs, files)) else os.getcwd()


def source_for(url: str, option: Mapping[str, Any]) -> Store:
    """Return the source for a URL. One is kept in each process for each store, as it has connections."""
    return _kept(scheme_of(url), json.dumps(dict(option), sort_keys=True))


@lru_cache(64)
def _kept(scheme: str, option: str) -> Store:
    return source_of(f"{scheme}://", **json.loads(option))
