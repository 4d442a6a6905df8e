"""`python -m treewide scale`: objects of stores, hashed by many workers."""

import argparse
import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from treewide._treewide import hexdigest
from treewide.scale import lists
from treewide.scale.buckets.parts import LIST, Bucket
from treewide.scale.buckets.program import BucketCommand, bucket_of
from treewide.scale.buckets.sinks import join, scheme_of
from treewide.scale.console import drive_shown, print_line, say
from treewide.scale.driver import Driver
from treewide.scale.engines import ENGINES
from treewide.scale.journal import Journal, JournalError
from treewide.scale.merge import Outcome
from treewide.scale.objects import Object, settled
from treewide.scale.outboards import Outboards, is_outboard, shape_of
from treewide.scale.progress import bytes_text, objects_text
from treewide.scale.ranges import Found, RangeError, print_found, range_of, verify_ranges
from treewide.scale.sources import Store, path_of, source_of

__all__ = ["main"]

_FINE, _DIFFERS, _USAGE, _UNKNOWN = 0, 1, 2, 3
_HEADS = 16

_ABOUT = """
Hash objects of stores by many workers. The digests are those of b3sum, whatever the workers and their number.

  sum URL...                 print the digests; with -o, write a list and what it was made of
  sum -r URL -o FOLDER       hash all objects below a URL, and write lists of them: bucket.b3 names them all
  verify -l LIST [URL...]    read everything again, and compare with the list; or with --hash, one object
  verify ... --range A..B    verify these bytes by the outboard that `sum --outboards` wrote, and read nothing else
  update -l LIST [URL...]    read what changed by ETag or version, or is not in the list; write the list again

A URL is that of S3 (s3://), Google (gs://), Azure (az://), a web server, a file system of fsspec, or a path. Exit
codes: 0 all is fine, 1 something differs, 2 the command makes no sense, 3 something could not be read, so that nobody
knows.
"""


class _Usage(Exception):
    """The command makes no sense."""


def main(arguments: Sequence[str]) -> int:
    """Run the command. Returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return (_bucket(options) or _Command(options)).run()
    except (_Usage, JournalError, RangeError, lists.ListError, ModuleNotFoundError) as error:
        say(str(error))
        return _USAGE
    except OSError as error:
        say(f"{error.filename}: {error.strerror}" if error.filename is not None else str(error))
        return _UNKNOWN
    except KeyboardInterrupt:
        # Before the first task, or after the last one: the others say from where the command goes on.
        say("interrupted")
        sys.stdout.flush()
        # A thread may be in the middle of a request.
        os._exit(130)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m treewide scale", description=_ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter
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
            add(
                "--part",
                type=_positive,
                default=10_000,
                metavar="N",
                help="with -r, objects of a list (default: 10000)",
            )
        else:
            add("-l", "--list", metavar="LIST", required=name == "update", help="the list that `sum -o` wrote")
        if name == "verify":
            add("--hash", metavar="DIGEST", help="the digest that the only URL must have, instead of a list")
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
            add("--outboards", nargs="?", const="", metavar="FOLDER", help=f"{text}; stands behind the URLs")
            text = "bytes of a group of outboards, a power of two (default: 1 MiB, and 16 MiB from 1 TiB on)"
            add("--group", type=_power_of_two, metavar="BYTES", help=text)
        add("--inventory", metavar="URL", help="list a bucket by this inventory: .parquet, or manifest.json")
        add("--engine", choices=sorted(ENGINES), default="local", help="what runs the workers (default: threads)")
        add("--workers", type=_positive, metavar="N", help="the most workers (default: what the engine has)")
        add("--option", action="append", default=[], metavar="NAME=VALUE", help="an option of the store, repeatable")
        add("--lease", type=_power_of_two, metavar="BYTES", help="bytes of a task, a power of two")
        add("--journal", metavar="FILE", help="what is hashed so far (default: a file in the cache of the user)")
        add("--no-resume", action="store_true", help="start again, instead of going on from an earlier run")
        add("--unpinned", action="store_true", help="also read objects without ETag and version")
        add("--json", action="store_true", help="print a line of JSON for each object, and one for all")
        add("--progress", action=argparse.BooleanOptionalAction, help="say how far it is (default: on a terminal)")
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a number from 1 on is wanted, and not {text}")
    return int(text)


def _range(text: str) -> tuple[int, int | None]:
    try:
        return range_of(text)
    except RangeError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _power_of_two(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1024 or number & (number - 1):
        raise argparse.ArgumentTypeError(f"a power of two of bytes is wanted, at least 1024, and not {text}")
    return number


def _bucket(options: argparse.Namespace) -> BucketCommand | None:
    """Return the command for a whole bucket; `None` if it is one for objects by name."""
    store = dict(map(_option, options.option))
    if options.command == "sum":
        if not options.recursive:
            if options.inventory:
                raise _Usage("--inventory lists a whole bucket: add -r")
            return None
        if len(options.urls) != 1 or options.output is None:
            raise _Usage("sum -r hashes everything below one URL, and writes lists to a folder: name both, with -o")
        _no_outboards(options)
        if not options.urls[0] or not options.output:
            raise _Usage("the URL or the output folder is empty: is a variable of the shell not set?")
        return BucketCommand(options, store, None)
    found: tuple[Bucket, str] | None = None
    if options.list is not None:
        # In a store there are only lists of buckets, and nobody wants to know what they are called.
        is_local = scheme_of(options.list) == "file"
        is_folder = os.path.isdir(path_of(options.list)) if is_local else not options.list.endswith(".b3")
        if options.list.endswith("/") or is_folder:
            options.list = join(options.list, LIST)
        try:
            found = bucket_of(options.list, store)
        except FileNotFoundError:
            raise _Usage(f"{options.list}: there is no such list: `sum -o` writes one") from None
    if found is None:
        if options.inventory or getattr(options, "quick", False):
            raise _Usage("--inventory and --quick are for a list of lists, which `sum -r` wrote: name one with --list")
        return None
    if options.urls:
        raise _Usage(f"{options.list} is a list of lists, of which all is compared: name no URL")
    _no_outboards(options)
    return BucketCommand(options, store, found)


def _no_outboards(options: argparse.Namespace) -> None:
    """Refuse what only objects by name have, instead of leaving it out without a word."""
    for name in ("outboards", "group", "range", "outboard"):
        if getattr(options, name, None) not in (None, []):
            raise _Usage(
                f"--{name} is for objects that are named one by one: the run of a whole bucket makes no outboards"
            )


class _Command:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.began = time.time()
        self.entries = self._entries()
        self.urls = list(dict.fromkeys(options.urls or self.entries))
        if not self.urls:
            raise _Usage("there is nothing to hash: name a URL, or a list that is not empty")
        schemes = set(map(scheme_of, self.urls))
        if len(schemes) > 1:
            raise _Usage(f"objects of {' and '.join(sorted(schemes))} in one run: hash them in a run each")
        self.source: Store = source_of(self.urls[0], **dict(map(_option, options.option)))
        if options.command == "verify":
            self._check_ranges()
        self.end_journal: Callable[[], object] = lambda: None
        #: What cannot be looked at.
        self.lost: dict[str, Exception] = {}
        self.outboards = self._outboards()
        #: Where outboards are, and which could not be written.
        self.places: dict[Object, str] = {}
        self.unwritten: dict[Object, Exception] = {}

    def _check_ranges(self) -> None:
        options = self.options
        if options.outboard is not None and not options.range:
            raise _Usage("--outboard is for --range: without it everything is read, and no outboard is needed")
        if options.outboard is not None and is_outboard(options.outboard):
            if len(self.urls) > 1:
                raise _Usage(f"{options.outboard} is the outboard of one URL: name one, or a folder of outboards")
            try:
                shape_of(options.outboard)
            except ValueError as error:
                raise _Usage(str(error)) from None

    def _source_of_outboards(self, place: str | None) -> Store:
        """Return what reads and writes outboards there."""
        if not place or scheme_of(place) == scheme_of(self.urls[0]):
            return self.source
        return source_of(place)

    def _entries(self) -> dict[str, lists.Entry]:
        options = self.options
        if options.command == "sum":
            return {}
        wanted = getattr(options, "hash", None)
        if (options.list is None) == (wanted is None):
            raise _Usage("name the list with --list, or the digest of one URL with --hash")
        if wanted is None:
            entries = lists.read(options.list)
            unknown = [it for it in options.urls if it not in entries]
            if unknown and options.command == "verify":
                raise _Usage(f"{unknown[0]} is not in {options.list}")
            return entries
        if len(options.urls) != 1:
            raise _Usage("--hash is the digest of one URL: name one")
        try:
            digest = bytes.fromhex(wanted)
        except ValueError:
            digest = b""
        if len(digest) != 32:
            raise _Usage(f"a digest has 64 hexadecimal digits, and not {wanted!r}")
        return {options.urls[0]: lists.Entry(options.urls[0], digest)}

    # ---- What is there, and what to read ---------------------------------------------------------

    def _check_output(self) -> None:
        """Notice before anything is read that the list cannot be written."""
        path = getattr(self.options, "output", None)
        if path is None:
            return
        if not path or os.path.isdir(path):
            raise _Usage(f"{path!r} is not the name of a file: name one for the list, or a folder with -r")
        with tempfile.TemporaryFile(dir=Path(path).parent):
            pass

    def run(self) -> int:
        self._check_output()
        objects = self._heads()
        if self.options.command == "verify" and self.options.range:
            return self._verify_ranges(objects)
        kept = {it.uri: it for it in objects if self._is_unchanged(it)}
        outcomes = self._hash([it for it in objects if it.uri not in kept])
        for object in kept.values():
            outcomes[object] = Outcome(object, "hashed", self.entries[object.uri].digest)
        verdicts = self._verdicts({it.uri: outcomes[it] for it in objects}, kept)
        self._write(verdicts, {it.uri: outcomes[it] for it in objects})
        # Not before: a list that cannot be written is written by the same command, which reads nothing again.
        self.end_journal()
        return self._tell(verdicts, {it.uri: outcomes[it] for it in objects}, kept)

    def _verify_ranges(self, objects: list[Object]) -> int:
        options = self.options
        known = (entry.outboard for url in self.urls if (entry := self.entries[url]).outboard is not None)
        pairs = self._source_of_outboards(options.outboard or next(known, None))
        found = list(verify_ranges(objects, self.entries, options.range, self.source, pairs, options.outboard))
        for url, (verdict, detail) in self._verdicts({}, {}, only=self.lost).items():
            found.append(Found(url, verdict, detail))
        code = self._code({it.verdict for it in found})
        for line in print_found(found, is_json=options.json, code=code):
            print_line(line)
        return code

    def _outboards(self) -> Outboards | None:
        folder = getattr(self.options, "outboards", None)
        if folder is None:
            if getattr(self.options, "group", None) is not None:
                raise _Usage("--group is for --outboards: name both")
            return None
        try:
            return Outboards(self._source_of_outboards(folder), folder or None, group=self.options.group)
        except ValueError as error:
            raise _Usage(str(error)) from None

    def _heads(self) -> list[Object]:
        objects = []
        with ThreadPoolExecutor(_HEADS) as pool:
            for url, found in zip(self.urls, pool.map(_caught(self.source.head), self.urls), strict=True):
                if isinstance(found, ModuleNotFoundError):
                    raise found
                if isinstance(found, Exception):
                    self.lost[url] = found
                elif not found.is_pinned and not self.options.unpinned:
                    text = f"{url}: the store says neither ETag nor version, so that a change would not be noticed; "
                    self.lost[url] = OSError(text + "read it with --unpinned if nobody writes to it")
                else:
                    objects.append(found)
        return objects

    def _is_unchanged(self, object: Object) -> bool:
        entry = self.entries.get(object.uri)
        return self.options.command == "update" and entry is not None and object.is_pinned and entry.object == object

    def _hash(self, objects: list[Object]) -> dict[Object, Outcome]:
        if not objects:
            return {}
        options = self.options
        path = Path(options.journal) if options.journal else _journal_of(objects)
        path.parent.mkdir(parents=True, exist_ok=True)
        if options.no_resume:
            # What is not a journal is not removed.
            Journal(path).remove() if path.exists() else None
        journal = Journal(path)
        outboards = self.outboards
        driver = Driver(objects, lease=options.lease or "auto", journal=journal, keeper=outboards)
        if driver.resumed:
            say(f"{bytes_text(driver.resumed)} were hashed by an earlier run: going on from {path}")
        drive_shown(driver, lambda: ENGINES[options.engine](self.source, options.workers), path, options.progress)
        for it in driver.disagreements:
            say(str(it))
        if outboards is not None:
            self.places, self.unwritten = outboards.end()
            for error in self.unwritten.values():
                say(str(error))
        # What is hashed is not read again to write an outboard.
        if not self.unwritten and all(it.status == "hashed" for it in driver.outcomes.values()):
            self.end_journal = journal.remove
        else:
            self.end_journal = journal.close
        return driver.outcomes

    # ---- What is said ----------------------------------------------------------------------------

    def _verdicts(
        self, outcomes: dict[str, Outcome], kept: dict[str, Object], *, only: Iterable[str] | None = None
    ) -> dict[str, tuple[str, str]]:
        """Return a verdict, as manifests have it, and a detail for each URL."""
        verdicts: dict[str, tuple[str, str]] = {}
        for url in self.urls if only is None else only:
            outcome, entry = outcomes.get(url), self.entries.get(url)
            if outcome is None:
                error = self.lost[url]
                is_gone = isinstance(error, FileNotFoundError) and entry is not None
                verdicts[url] = ("removed" if is_gone else "unreadable", str(error))
            elif outcome.status != "hashed":
                verdicts[url] = ("changing" if outcome.status == "changed" else "unreadable", outcome.detail)
            elif entry is None:
                verdicts[url] = ("added", "")
            elif url in kept or outcome.digest == entry.digest:
                verdicts[url] = ("same", "")
            else:
                verdicts[url] = ("changed", f"expected {entry.digest.hex()}, found {(outcome.digest or b'').hex()}")
        return verdicts

    def _write(self, verdicts: dict[str, tuple[str, str]], outcomes: dict[str, Outcome]) -> None:
        options = self.options
        path = options.output if options.command == "sum" else options.list if options.command == "update" else None
        if path is None:
            return
        entries = dict(self.entries)
        for url, (verdict, _) in verdicts.items():
            if verdict == "removed":
                entries.pop(url, None)
            elif (outcome := outcomes.get(url)) is not None and outcome.digest is not None:
                old = entries.get(url)
                place = old.outboard if old is not None and old.digest == outcome.digest else None
                place = self.places.get(outcome.object, place)
                entries[url] = lists.Entry(url, outcome.digest, settled(outcome.object, self.began), place)
            # What could not be read keeps the digest that it had.
        lists.write(path, entries.values())

    def _tell(self, verdicts: dict[str, tuple[str, str]], outcomes: dict[str, Outcome], kept: dict[str, Object]) -> int:
        command, is_json = self.options.command, self.options.json
        counts: dict[str, int] = {}
        for url, (verdict, detail) in verdicts.items():
            counts[verdict] = counts.get(verdict, 0) + 1
            outcome = outcomes.get(url)
            digest = outcome.digest if outcome else None
            if is_json:
                object = outcome.object if outcome else None
                facts = {"size": object.size, "etag": object.etag, "version": object.version} if object else {}
                found = {"uri": url, "verdict": verdict, "digest": digest.hex() if digest else None}
                place = {"outboard": self.places[object]} if object in self.places else {}
                print(json.dumps({**found, **facts, **place, "detail": detail}))
            elif command == "sum":
                if digest is None:
                    say(detail if url in detail else f"{url}: {verdict}: {detail}")
                elif self.options.output is None:
                    print_line(lists.line_of(url, digest))
            elif verdict != "same":
                print_line(f"{verdict:10} {url}" + (f"  ({detail})" if detail else ""))
        read = [it for url, it in outcomes.items() if url not in kept and it.digest is not None]
        code = self._code({it for it, _ in verdicts.values()})
        if is_json:
            size = sum(it.object.size for it in read)
            print(json.dumps({"counts": counts, "objects_read": len(read), "bytes_read": size, "exit": code}))
        elif command != "sum":
            text = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
            amount = bytes_text(sum(it.object.size for it in read))
            print_line(f"{objects_text(len(verdicts))}: {text}; {len(read)} read, {amount}")
        return code

    def _code(self, verdicts: set[str]) -> int:
        if verdicts & {"unreadable", "changing"} or self.unwritten:
            return _UNKNOWN
        differs = self.options.command == "verify" and verdicts & {"changed", "removed"}
        return _DIFFERS if differs else _FINE


def _option(text: str) -> tuple[str, Any]:
    name, separator, value = text.partition("=")
    if not separator:
        raise _Usage(f"--option {text}: NAME=VALUE is wanted")
    with contextlib.suppress(ValueError):
        return name, json.loads(value)
    return name, value


def _journal_of(objects: list[Object]) -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    names = "\0".join(sorted(it.uri for it in objects))
    return Path(cache, "treewide", "scale", hexdigest(os.fsencode(names), length=16) + ".journal")


def _caught(head: Callable[[str], Object]) -> Callable[[str], Object | Exception]:
    def look(url: str) -> Object | Exception:
        try:
            return head(url)
        except Exception as error:
            return error

    return look
