"""Looks at every output before anything is read: it must not be an input, or a file of another program."""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from treewide._scale import lists
from treewide._scale.console import UsageError
from treewide._scale.sources import scheme_of
from treewide._scale.sources.files import path_of


def file_of(list: str) -> str:
    """Return the path of a list of named objects. Raises `UsageError` for one that is elsewhere."""
    if scheme_of(list) != "file":
        raise UsageError(
            f"{list}: lists of named objects are files of this machine: name one, or write a bucket's by -r"
        )
    return path_of(list)


def check_list(path: str, inputs: Iterable[str]) -> lists.Entries:
    """Check that a list, and its index next to it, can be written. Returns the entries that it has now.

    Raises `UsageError` if one is in the way of something; `OSError` that names the list.
    """
    if os.path.isdir(path):
        raise UsageError(f"{path!r} is not the name of a file: name one for the list, or a folder with -r")
    read = {os.path.realpath(path_of(it)): it for it in inputs if scheme_of(it) == "file"}
    for output in (path, str(lists.index_path(path))):
        if (found := read.get(os.path.realpath(output))) is not None:
            raise UsageError(f"{output} would replace {found}, which is hashed: name another list")
    try:
        known = lists.read(path)
    except FileNotFoundError:
        known = lists.Entries()
    except lists.ListError as error:
        raise UsageError(f"{error}: this file is not a list, and is not replaced: name another") from None
    if not known and os.path.exists(lists.index_path(path)) and os.path.getsize(lists.index_path(path)):
        raise UsageError(
            f"{lists.index_path(path)} is there already, and belongs to no list: remove it, or name another"
        )
    try:
        with tempfile.TemporaryFile(dir=Path(path).parent):
            pass
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None
    return known


def check_outboards(urls: Iterable[str]) -> None:
    """Check that no outboard next to an object replaces another object."""
    urls = set(urls)
    for it in sorted(urls):
        name, separator, _ = it.rpartition(".obao")
        if separator and name in urls:
            raise UsageError(f"{it} would be replaced by the outboard of {name}: name a folder with --outboards")
