"""`python -m treewide scale`: what may be asked, and which command does it."""

import argparse
import contextlib
import json
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from treewide._scale.console import UsageError, print_line, say
from treewide._scale.cover import LONGEST, Cover, covering_of, hash_all
from treewide._scale.engines import ENGINES
from treewide._scale.job import Job, tuples
from treewide._scale.lists import ListError, line_of
from treewide._scale.object_command import ObjectCovering
from treewide._scale.outboards import checked_group
from treewide._scale.outcome import Outcome, Row
from treewide._scale.progress import Progress, bytes_text, objects_text
from treewide._scale.ranges import range_of
from treewide._scale.run import run
from treewide._scale.verdicts import counted
from treewide._scale.work import Work, planned, usual_place

_FINE, _USAGE, _UNKNOWN = 0, 2, 3

_ABOUT = """
Hash objects of stores by many workers. The digests are those of b3sum, whatever the workers and their number.

  sum URL...                 print the digests; with -o, write a list and what it was made of
  sum -r URL -o FOLDER       hash all objects below a URL, and write lists of them: bucket.b3 names them all
  verify LIST [URL...]       read everything again, and compare with the list; or with --expect, one object
  verify ... --range A..B    verify these bytes by the outboard that `sum --outboards` wrote, and read nothing else
  update LIST [URL...]       read what changed by ETag or version, or is not in the list; write the list again
  plan, run, merge           the same in rounds of tasks, for Slurm and other batch systems: docs/scale.md

A URL is that of S3 (s3://), Google (gs://), Azure (az://), a web server, a file system of fsspec, or a path. Exit
codes: 0 as recorded, 1 something differs, 2 invalid usage, 3 undetermined: something could not be read or compared.
"""


def main(arguments: Sequence[str]) -> int:
    """Run the command. Returns the exit code."""
    # Python has no stream where the caller closed it.
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115 - open to the end
    if sys.stdout is None:
        say("standard output is closed: direct it to a file or to /dev/null")
        return _UNKNOWN
    options = parsed(arguments)
    try:
        return int(_COMMANDS[options.command](options))
    except (UsageError, ModuleNotFoundError) as error:
        say(str(error))
        return _USAGE
    except ListError as error:
        say(f"{error}; nothing was compared, and nothing written")
        return _UNKNOWN
    except OSError as error:
        say(f"{error.filename}: {error.strerror}" if error.filename is not None else str(error))
        return _UNKNOWN
    except KeyboardInterrupt:
        say("interrupted")
        sys.stdout.flush()
        # A thread may be in the middle of a request.
        os._exit(130)
    except Exception:
        # A fault of the program. Python would exit with 1, as if something differed.
        traceback.print_exc()
        return _UNKNOWN


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of a command. The first argument is the list, if none is named."""
    options = _parser().parse_args(arguments)
    if options.command in ("verify", "update") and options.list is None and options.urls and not options.expect:
        options.list = options.urls.pop(0)
    return options


def job_of(options: argparse.Namespace) -> Job:
    """Return what the options ask for. Raises `UsageError` where they do not fit together."""
    given = {it.name: getattr(options, it.name) for it in fields(Job) if hasattr(options, it.name)}
    if options.outboard is not None and not options.range:
        raise UsageError("--outboard is for --range: without it everything is read, and no outboard is needed")
    return Job(**{**tuples(given), "option": dict(map(_option, options.option))})


class _Screen:
    """Shows people a run."""

    def __init__(self, options: argparse.Namespace, job: Job) -> None:
        self.options, self.job = options, job
        wanted = False if options.quiet else options.progress
        self.progress = Progress() if (sys.stderr.isatty() if wanted is None else wanted) else None

    def told(self, row: Row) -> None:
        if (note := row.get("note")) is not None:
            say(note)
        elif self.options.json:
            print_line(json.dumps(row))
        elif row["verdict"] == "same" or (self.job.command == "sum" and row["digest"] is not None and self.job.output):
            return
        else:
            # On one line, as b3sum writes names.
            uri, detail = row["uri"], row["detail"]
            name = line_of(uri, b"").removeprefix("\\").removeprefix("  ")
            for it in row.get("damage", ()):
                print_line(f"{it['state'].upper():10} {name}  {it['start']}..{it['stop']}")
            if self.job.command != "sum":
                detail = detail.removeprefix(f"{uri}: ")
                print_line(f"{row['verdict']:10} {name}" + (f"  ({detail})" if detail else ""))
            elif row["digest"] is not None:
                print_line(line_of(uri, bytes.fromhex(row["digest"])))
            else:
                say(detail if uri in detail else f"{name}: {row['verdict']}: {detail}")

    def shown(self, cover: Cover, workers: int) -> None:
        if self.progress is not None:
            self.progress(*cover.progress(), workers)

    def end(self, it: Outcome) -> int:
        """Say how it ended. Returns the exit code."""
        if self.options.json:
            total = {"counts": it.counts, "evidence": it.evidence, "objects_read": it.objects_read}
            total |= {"bytes_read": it.bytes_read, **it.more, "causes": it.causes, "exit": it.exit}
            print_line(json.dumps(total))
        elif not (self.options.quiet and it.exit == _FINE):
            size = bytes_text(it.bytes_read)
            if "bytes_of_outboard" in it.more:
                size += f", and {bytes_text(it.more['bytes_of_outboard'])} of outboards"
            text = ": ".join(filter(None, [objects_text(sum(it.counts.values())), counted(it.counts)]))
            text += f"; {counted(it.evidence) or '0 read'}, {size}"
            if self.job.command != "sum":
                print_line(text)
            elif self.job.recursive:
                say(text)
            if it.place is not None and it.list is not None and it.contents is not None:
                say(f"contents {it.contents.hex()}: the same for copies, wherever they are")
                print_line(line_of(it.place, it.list))
        if it.exit != _FINE and it.why:
            say(it.why)
        return it.exit


def _hash(options: argparse.Namespace) -> int:
    """Do `sum`, `verify` or `update`."""
    job = job_of(options)
    screen = _Screen(options, job)
    if options.range:
        covering = covering_of(job, screen.told)
        if not isinstance(covering, ObjectCovering):
            raise UsageError("--range is for objects that are named one by one")
        return screen.end(covering.ranges(options.range, options.outboard))
    cover = Cover(job, screen.told)
    work = Work(options.work or usual_place(cover.key), cover.key)
    if options.no_resume:
        work.forget()
    try:
        with contextlib.ExitStack() as stack:
            try:
                map, workers = stack.enter_context(ENGINES[options.engine](options.workers))
            except ModuleNotFoundError:
                raise
            # Each engine has errors of its own.
            except Exception as error:
                raise RuntimeError(f"it does not start: {error}") from error
            try:
                outcome = hash_all(cover, map, workers=workers, work=work, told=screen.told, shown=screen.shown)
            except KeyboardInterrupt:
                say(f"interrupted: the same command continues from {work.path}")
                sys.stdout.flush()
                # A worker may be in the middle of a request, and is not waited for.
                os._exit(130)
    except RuntimeError as error:
        say(f"the engine {options.engine}: {error}; the same command continues from {work.path}")
        return _UNKNOWN
    finally:
        if screen.progress is not None:
            screen.progress.end()
    return screen.end(outcome)


def _plan(options: argparse.Namespace) -> int:
    """Write the tasks of the next round, and print their number."""
    wanted = parsed(options.rest)
    if wanted.command not in ("sum", "verify", "update") or wanted.range:
        raise UsageError("what is planned is sum, verify or update, without --range: `plan --work FOLDER -- sum ...`")
    if wanted.no_resume:
        raise UsageError(f"--no-resume: would plan the same again and again; remove {options.work} to start anew")
    job, last = job_of(wanted), list[bytes]()
    with contextlib.suppress(UsageError):
        _, before, last = planned(options.work)
        job = replace(job, run=before.run)
    text = job.to_json()
    cover = Cover(job, _say_note)
    work = Work(options.work, cover.key)
    if last and not any(map(work.is_done, last)):
        work.plan(text, [])
        say("no task of the last round has a result: see what its jobs say, and plan again")
        return _UNKNOWN
    work.forget_old(job.run, _say_note)
    cover.continues(work)
    # A round of a batch system waits for its turn: it is not to be a short one.
    tasks = cover.missing(wanted.workers or 1, LONGEST)
    work.plan(text, tasks)
    print(len(tasks))
    return _FINE


def _say_note(row: Row) -> None:
    if "note" in row:
        say(row["note"])


def _run(options: argparse.Namespace) -> int:
    """Do every N-th of the tasks that were planned, from the K-th on."""
    key, _, tasks = planned(options.work)
    work = Work(options.work, key)
    first, step = options.share
    for task in tasks[first::step]:
        # One that is done, by a job that was stopped and begun again, is not done twice.
        if not work.is_done(task):
            work.keep(run(task))
    return _FINE


def _merge(options: argparse.Namespace) -> int:
    """Say what the command itself would say, once all is covered."""
    _, job, _ = planned(options.work)
    screen = _Screen(options, job)
    cover = Cover(job, screen.told)
    work = Work(options.work, cover.key)
    cover.continues(work)
    if tasks := cover.missing(1):
        say(f"{len(tasks)} tasks or more are not done, and nothing was written: plan and run the next round")
        return _UNKNOWN
    outcome = cover.end()
    if outcome.is_over:
        work.end(screen.told)
    else:
        work.begin()
    return screen.end(outcome)


_COMMANDS = {"sum": _hash, "verify": _hash, "update": _hash, "plan": _plan, "run": _run, "merge": _merge}


def _parser() -> argparse.ArgumentParser:
    # As it was called.
    name = "treewide" if os.path.basename(sys.argv[0]).startswith("treewide") else "python -m treewide"
    parser = argparse.ArgumentParser(
        prog=f"{name} scale", description=_ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    # Options of some commands, whose absence the others need not know.
    parser.set_defaults(expect=None, range=[], outboard=None)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in (("sum", "print digests"), ("verify", "compare with a list"), ("update", "read what changed")):
        command = commands.add_parser(name, help=text)
        add = command.add_argument
        add("urls", nargs="+" if name == "sum" else "*", metavar="URL")
        if name == "sum":
            add("-o", "--output", metavar="LIST", help="write a list, and LIST.objects; with -r, into a folder")
            add("-r", "--recursive", action="store_true", help="hash everything below the URL, by ranges of keys")
        else:
            add("-l", "--list", metavar="LIST", help="the list that `sum -o` wrote (default: the first argument)")
        if name == "verify":
            add("--expect", metavar="DIGEST", help="the digest that the only URL must have, instead of a list")
            add("--range", action="append", default=[], type=range_of, metavar="A..B", help="only these bytes")
            add("--outboard", metavar="URL", help="the outboard of --range, or its folder (default: as --outboards)")
            add("--quick", action="store_true", help="of a bucket, read only what changed by ETag, version or time")
        else:
            text = "write outboards, for `verify --range`: next to the objects, or into FOLDER by digest"
            add("--outboards", nargs="?", const="", metavar="FOLDER", help=f"{text}; write it after the URLs")
            text = "size of a group of outboards, such as 64K or 1M (default: 1M, and 16M for objects of 1T or more)"
            add("--group", type=checked_group, metavar="SIZE", help=text)
        add("--inventory", metavar="URL", help="list a bucket by this inventory: .parquet, or manifest.json")
        add("--engine", choices=sorted(ENGINES), default="local", help="what runs the workers (default: local)")
        add("--workers", type=_positive, metavar="N", help="the most workers (default: what the engine has)")
        add("--option", action="append", default=[], metavar="NAME=VALUE", help="an option of the store, repeatable")
        add("--work", metavar="FOLDER", help="keep results there, to continue (default: in the user's cache)")
        add("--no-resume", action="store_true", help="start anew, and take nothing from a run that was killed")
        if name == "update":
            text = "take the new digest of objects whose URLs match, though they rotted or are suspect; repeatable"
            add("--accept-rot", action="append", default=[], metavar="GLOB", help=text)
            text = "write a list although what the old one says of its objects is damaged; old digests stay"
            add("--accept-damage", action="store_true", help=text)
        if name != "verify":
            add("--allow-empty", action="store_true", help="write a list although nothing is there, or could be hashed")
            text = "write no list if more of the old objects are gone: 10%%, or 1000 (default: 50%%)"
            add("--max-removed", default="50%", metavar="MOST", help=text)
        add("--unpinned", action="store_true", help="also read objects without ETag and version")
        _add_display(command)
    text = "write the tasks of the next round for a batch system, and print their number"
    plan = commands.add_parser("plan", help=text)
    plan.add_argument("rest", nargs="+", metavar="-- COMMAND", help="sum, verify or update, with its options")
    share = commands.add_parser("run", help="do every N-th of these tasks")
    share.add_argument("share", type=_share, metavar="K/N", help="from task K on, which is 0 to N-1")
    merge = commands.add_parser("merge", help="write and say what the command itself would, once all is done")
    for command in (plan, share, merge):
        command.add_argument("--work", required=True, metavar="FOLDER", help="where tasks and results are kept")
    _add_display(merge)
    return parser


def _add_display(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--json", action="store_true", help="print a line of JSON for each object, and one for all")
    add("-q", "--quiet", action="store_true", help="print only what differs or fails, and the counts")
    add("--progress", action=argparse.BooleanOptionalAction, help="say how far it is (default: on a terminal)")


def _share(text: str) -> tuple[int, int]:
    first, _, step = text.partition("/")
    if not (first.isdecimal() and step.isdecimal() and int(first) < int(step)):
        raise UsageError(f"K/N with K from 0 to N-1 is wanted, and not {text}")
    return int(first), int(step)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"a number from 1 on is wanted, and not {text}")
    return int(text)


def _option(text: str) -> tuple[str, Any]:
    name, separator, value = text.partition("=")
    if not separator:
        raise UsageError(f"--option {text}: NAME=VALUE is wanted")
    with contextlib.suppress(ValueError):
        return name, json.loads(value)
    return name, value
