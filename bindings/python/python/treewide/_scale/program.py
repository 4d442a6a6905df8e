"""`python -m treewide scale`: what may be asked, and which command does it."""

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Sequence
from typing import Any, Protocol

from treewide._scale.buckets.bucket_command import BucketCommand, bucket_of
from treewide._scale.buckets.bucket_list import LIST, Bucket
from treewide._scale.buckets.list_files import is_list_file
from treewide._scale.buckets.sinks import join, scheme_of
from treewide._scale.console import UsageError, say
from treewide._scale.engines import ENGINES
from treewide._scale.journal_file import JournalError
from treewide._scale.lists import ListError
from treewide._scale.object_command import ObjectCommand
from treewide._scale.outboards import checked_group
from treewide._scale.outputs import Limit
from treewide._scale.ranges import RangeError, range_of
from treewide._scale.sources.files import path_of

__all__ = ["main"]

_USAGE, _UNKNOWN = 2, 3

_ABOUT = """
Hash objects of stores by many workers. The digests are those of b3sum, whatever the workers and their number.

  sum URL...                 print the digests; with -o, write a list and what it was made of
  sum -r URL -o FOLDER       hash all objects below a URL, and write lists of them: bucket.b3 names them all
  verify LIST [URL...]       read everything again, and compare with the list; or with --expect, one object
  verify ... --range A..B    verify these bytes by the outboard that `sum --outboards` wrote, and read nothing else
  update LIST [URL...]       read what changed by ETag or version, or is not in the list; write the list again

A URL is that of S3 (s3://), Google (gs://), Azure (az://), a web server, a file system of fsspec, or a path. Exit
codes: 0 as recorded, 1 something differs, 2 invalid usage, 3 undetermined: something could not be read or compared.
"""


def main(arguments: Sequence[str]) -> int:
    """Run the command. Returns the exit code."""
    options = _parser().parse_args(arguments)
    if options.command != "sum" and options.list is None and getattr(options, "expect", None) is None and options.urls:
        options.list = options.urls.pop(0)
    try:
        return _command(options).run()
    except (UsageError, JournalError, RangeError, ModuleNotFoundError) as error:
        say(str(error))
        return _USAGE
    except ListError as error:
        say(f"{error}; nothing was compared, and nothing written")
        return _UNKNOWN
    except OSError as error:
        say(f"{error.filename}: {error.strerror}" if error.filename is not None else str(error))
        return _UNKNOWN
    except KeyboardInterrupt:
        # Before the first task, or after the last one: the others say from where the command continues.
        say("interrupted")
        sys.stdout.flush()
        # A thread may be in the middle of a request.
        os._exit(130)


def _program() -> str:
    """Return the name by which this program was called."""
    return "treewide" if os.path.basename(sys.argv[0]).startswith("treewide") else "python -m treewide"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"{_program()} scale", description=_ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in (("sum", "print digests"), ("verify", "compare with a list"), ("update", "read what changed")):
        command = commands.add_parser(name, help=text)
        add = command.add_argument
        add("urls", nargs="+" if name == "sum" else "*", metavar="URL")
        if name == "sum":
            add(
                "-o",
                "--output",
                metavar="LIST",
                help="write a list, and LIST.objects for `update`; with -r, to a folder",
            )
            add("-r", "--recursive", action="store_true", help="hash everything below the URL, by ranges of keys")
        else:
            add("-l", "--list", metavar="LIST", help="the list that `sum -o` wrote (default: the first argument)")
        if name == "verify":
            add("--expect", metavar="DIGEST", help="the digest that the only URL must have, instead of a list")
            add(
                "--range",
                action="append",
                default=[],
                type=_range,
                metavar="A..B",
                help="only these bytes, by the outboard",
            )
            add(
                "--outboard",
                metavar="URL",
                help="the outboard of --range, or its folder (default: next to the object)",
            )
            add("--quick", action="store_true", help="of a bucket, read only what changed by ETag, version or time")
        else:
            text = "write outboards, for `verify --range`: next to the objects, or into FOLDER by digest"
            add("--outboards", nargs="?", const="", metavar="FOLDER", help=f"{text}; write it after the URLs")
            text = "size of a group of outboards, such as 64K or 1M (default: 1M, and 16M for objects of 1T or more)"
            add("--group", type=_group, metavar="SIZE", help=text)
        add("--inventory", metavar="URL", help="list a bucket by this inventory: .parquet, or manifest.json")
        add("--engine", choices=sorted(ENGINES), default="local", help="what runs the workers (default: local)")
        add("--workers", type=_positive, metavar="N", help="the most workers (default: what the engine has)")
        add("--option", action="append", default=[], metavar="NAME=VALUE", help="an option of the store, repeatable")
        add(
            "--no-resume",
            action="store_true",
            help="start anew, and read again what an earlier run read that was killed",
        )
        if name == "update":
            text = "take the new digest of objects whose URLs match, though they rotted or are suspect; repeatable"
            add("--accept-rot", action="append", default=[], metavar="GLOB", help=text)
            text = "write a list although what the old one says of its objects is damaged; old digests stay"
            add("--accept-damage", action="store_true", help=text)
        if name != "verify":
            add("--allow-empty", action="store_true", help="write a list although nothing is there, or could be hashed")
            text = "write no list if more of the old objects are gone: 10%%, or 1000 (default: 50%%)"
            add("--max-removed", type=_limit, default="50%", metavar="MOST", help=text)
        add("--unpinned", action="store_true", help="also read objects without ETag and version")
        add("--json", action="store_true", help="print a line of JSON for each object, and one for all")
        add("-q", "--quiet", action="store_true", help="print only what differs or fails, and the counts")
        add("--progress", action=argparse.BooleanOptionalAction, help="say how far it is (default: on a terminal)")
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a number from 1 on is wanted, and not {text}")
    return int(text)


def _limit(text: str) -> Limit:
    try:
        return Limit.of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _range(text: str) -> tuple[int, int | None]:
    try:
        return range_of(text)
    except RangeError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _group(text: str) -> int:
    try:
        return checked_group(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


class _Command(Protocol):
    def run(self) -> int:
        """Run it. Returns the exit code."""


def _command(options: argparse.Namespace) -> _Command:
    """Return the command: for a whole bucket, or for objects that are named."""
    store = dict(map(_option, options.option))
    if options.command == "sum" and options.recursive:
        _check_bucket(options)
        return BucketCommand(options, store, None)
    found = _bucket_of(options, store) if options.command != "sum" and options.list is not None else None
    if found is not None:
        if options.urls:
            raise UsageError(f"{options.list} covers a whole bucket and is compared completely; remove the URLs")
        _no_outboards(options)
        return BucketCommand(options, store, found)
    if options.inventory or getattr(options, "quick", False):
        raise UsageError("--inventory and --quick are for a whole bucket: add -r, or name its list with --list")
    return ObjectCommand(options, store)


def _check_bucket(options: argparse.Namespace) -> None:
    if len(options.urls) != 1 or options.output is None:
        raise UsageError("sum -r hashes everything below one URL, and writes lists to a folder: name both, with -o")
    if not options.urls[0] or not options.output:
        raise UsageError("the URL or the output folder is empty: is a variable of the shell not set?")
    _no_outboards(options)


def _bucket_of(options: argparse.Namespace, store: dict[str, Any]) -> tuple[Bucket, str] | None:
    """Return the list of a bucket that the command names, and its folder; `None` if it is another list."""
    # In a store there are only lists of buckets, and their names need not be known.
    is_local = scheme_of(options.list) == "file"
    is_folder = os.path.isdir(path_of(options.list)) if is_local else not options.list.endswith(".b3")
    if options.list.endswith("/") or is_folder:
        options.list = join(options.list, LIST)
    if is_list_file(options.list):
        raise UsageError(f"{options.list} is a part of the list of a bucket: name {LIST} in the same folder")
    try:
        return bucket_of(options.list, store)
    except FileNotFoundError:
        raise UsageError(f"{options.list}: there is no such list: `sum -o` writes one") from None


def _no_outboards(options: argparse.Namespace) -> None:
    """Refuse what only objects by name have, instead of leaving it out without a word."""
    for name in ("outboards", "group", "range", "outboard"):
        if getattr(options, name, None) not in (None, []):
            raise UsageError(
                f"--{name} is for objects that are named one by one: the run of a whole bucket makes no outboards"
            )


def _option(text: str) -> tuple[str, Any]:
    name, separator, value = text.partition("=")
    if not separator:
        raise UsageError(f"--option {text}: NAME=VALUE is wanted")
    with contextlib.suppress(ValueError):
        return name, json.loads(value)
    return name, value
