"""Tests `check` against the command line, and `digests` against hashlib."""

import hashlib
import json
import os
import random
import subprocess
import sys
import tarfile
import textwrap
import threading
from collections import Counter
from pathlib import Path

import pytest
import treewide
from treewide import check, digests

SAMPLES = Path(__file__).parents[3] / "crates/treewide-cli/tests/stores.tar.xz"

on_unix = pytest.mark.skipif(os.name == "nt", reason="needs Unix")


def line(data, name, algorithm="sha256"):
    return f"{hashlib.new(algorithm, data).hexdigest()}  {name}\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_lists(folder):
    folder.mkdir()
    content = {f"{name}.txt": name.encode() * 1000 for name in ("alpha", "beta two", "gamma")}
    for name, data in content.items():
        (folder / name).write_bytes(data)
    for name, algorithm in {
        "SHA256SUMS": "sha256",
        "SHA512SUMS": "sha512",
        "by_length": "sha256",
        "MD5SUMS": "md5",
    }.items():
        (folder / name).write_text("".join(line(data, file, algorithm) for file, data in content.items()))
    (folder / "b3").write_text("".join(f"{treewide.hexdigest(data)}  {name}\n" for name, data in content.items()))
    tagged = [
        f"{it.upper()} ({name}) = {hashlib.new(it, data).hexdigest()}"
        for name, data in content.items()
        for it in ("md5", "sha1")
    ]
    (folder / "tagged").write_text("\n".join(tagged) + "\n")
    (folder / "cut").write_text("\n".join(tagged)[:-20])
    (folder / "gone.sha1").write_text(line(b"", "nothing", "sha1") + "nonsense\n# comment\n")
    (folder / "alone.txt.sha256").write_text(hashlib.sha256(b"").hexdigest() + "\n")


@pytest.fixture(scope="session")
def samples(tmp_path_factory):
    """Stores and lists: as they are, and with a third of the files damaged."""
    folder = tmp_path_factory.mktemp("samples")
    for seed in range(2):
        with tarfile.open(SAMPLES) as archive:
            archive.extractall(folder / str(seed), filter="tar")
        write_lists(folder / str(seed) / "lists")
        files = sorted(it for it in (folder / str(seed)).rglob("*") if it.is_file() and not it.is_symlink())
        choice = random.Random(seed)
        for file in choice.sample(files, len(files) // 3) if seed else []:
            file.chmod(0o644)
            data = file.read_bytes()
            match choice.choice(["flip", "cut", "gone", "folder"]):
                case "flip":
                    file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]) if data else b"!")
                case "cut":
                    file.write_bytes(data[: len(data) // 2])
                case "gone":
                    file.unlink()
                case "folder":
                    file.unlink()
                    file.mkdir()
    return folder


def command_line(arguments):
    # One thread: which of several digests is shown of a line that names no algorithm depends on the order of files.
    program = [sys.executable, "-m", "treewide", "check", "--json", "--verbose", "--threads", "1", *arguments]
    done = subprocess.run(program, capture_output=True, stdin=subprocess.DEVNULL)
    objects = [json.loads(it) for it in done.stdout.splitlines()]
    return done.returncode, [it for it in objects if it.pop("type") != "summary"]


def as_json(finding):
    """A finding as the command line writes it."""
    path = os.fsencode(finding.path)
    found = {"path": path.decode(errors="replace")}
    if "\N{REPLACEMENT CHARACTER}" in found["path"]:
        found["path_hex"] = path.hex()
    for key in ("digest", "expected", "bytes", "algorithm", "by", "expected_bytes", "store"):
        value = getattr(finding, key)
        found[key] = value.hex() if isinstance(value, bytes) else value
    evidence = None if finding.bytes is None else "read"
    return {**found, "verdict": finding.status, "evidence": evidence, "detail": finding.error}


OPTIONS = [
    ({}, []),
    ({"strict": True}, ["--strict"]),
    ({"ignore_missing": True}, ["--ignore-missing"]),
    ({"strong": True}, ["--strong"]),
    ({"recursive": True}, ["-r"]),
    ({"store": "restic"}, ["--store", "restic"]),
]


@pytest.mark.parametrize("seed", range(2))
def test_check_agrees_with_the_command_line(samples, seed, monkeypatch):
    cases, codes = 0, Counter()
    top = samples / str(seed)
    lists = top / "lists"
    operands = [(top, [it.name]) for it in sorted(top.iterdir()) if it.is_dir()]
    operands += [(lists, [it.name]) for it in sorted(lists.iterdir())]
    operands += [(top, [it.name for it in sorted(top.iterdir()) if it.is_dir()])]
    for folder, paths in operands:
        monkeypatch.chdir(folder)
        for options, arguments in OPTIONS if folder == top else OPTIONS[:3]:
            code, lines = command_line([*arguments, *paths])
            report = check(paths, **options, verbose=True)
            # What to do next is advice for the command line.
            found = [as_json(it) for it in report.findings]
            for one, other in zip(found, lines, strict=True):
                if one["verdict"] == "unverified" and other["detail"].startswith(one["detail"] + "; `treewide sum"):
                    other["detail"] = one["detail"]
            assert found == lines, (paths, options)
            assert code == (0 if report else 1 if report.is_certain else 3), (paths, options)
            assert bool(report) == (report.is_certain and not report.differs)
            kept = [it for it in report.findings if it.status != "ok"]
            assert list(check(paths, **options).findings) == kept
            cases, codes = cases + 1, codes + Counter([code])
    print(f"{cases} cases, exit codes {dict(codes)}")
    assert cases > 100 and codes.keys() == {0, 1, 3}


def test_check_reports_each_status(here):
    (here / "good").write_bytes(b"good")
    (here / "bad").write_bytes(b"bad")
    (here / "folder").mkdir()
    digest = hashlib.sha256(b"good").hexdigest()
    text = line(b"good", "good") + line(b"other", "bad") + line(b"", "folder") + line(b"", "gone")
    (here / "SHA256SUMS").write_text(text + f"{digest[:20]}  short\nnonsense\n")
    report = check("SHA256SUMS", verbose=True)
    assert {it.path: it.status for it in report.findings} == {
        "good": "ok",
        "bad": "failed",
        "folder": "unreadable",
        "gone": "unreadable",
        "short": "unverified",
        "SHA256SUMS": "unverified",
    }
    assert report.counts == {"ok": 1, "failed": 1, "unreadable": 2, "unverified": 1, "missing": 0, "skipped": 0}
    good, bad, folder = report.findings[:3]
    assert (good.digest, good.expected, good.error) == (bytes.fromhex(digest), bytes.fromhex(digest), None)
    assert (good.algorithm, good.by, good.bytes, good.store) == ("sha256", "list-name", 4, None)
    assert (bad.digest, bad.bytes) == (hashlib.sha256(b"bad").digest(), 3)
    assert folder.digest is None and "directory" in folder.error
    assert [(it.list, it.number) for it in report.malformed] == [("SHA256SUMS", 6)] and report.malformed_count == 1
    assert not report and not report.is_certain and report.differs
    assert str(report).splitlines() == [
        "5 files checked: 1 OK, by SHA-256, 1 FAILED, 1 missing, 1 could not be read, 1 not verified; "
        "1 line not understood",
    ]


def test_check_keeps_a_bounded_number_of_malformed_lines(here):
    (here / "a").write_bytes(b"a")
    digest = hashlib.sha256(b"c").hexdigest()
    (here / "SHA256SUMS").write_text(line(b"a", "a") + "nonsense\n" * 3000 + f"{digest}\n" + "more\n")
    report = check("SHA256SUMS")
    assert report.malformed_count == 3002
    assert [it.number for it in report.malformed] == [*range(2, 1002)]
    assert not report


def test_check_of_lists_with_a_key_and_of_another_length(here):
    (here / "a").write_bytes(b"a")
    (here / "keyed").write_text(f"{treewide.hexdigest(b'a', key=b'k' * 32)}  a\n")
    (here / "of_context").write_text(f"{treewide.hexdigest(b'a', derive_key_context='c')}  a\n")
    (here / "short").write_text(f"{treewide.hexdigest(b'a', length=16)}  a\n")
    assert check("keyed", key=b"k" * 32) and not check("keyed") and not check("keyed", key=b"l" * 32)
    assert check("of_context", derive_key_context="c") and check("short", length=16)


def test_check_takes_paths_of_every_kind(here):
    (here / "a").write_bytes(b"a")
    (here / "SHA256SUMS").write_text(line(b"a", "a"))
    for paths in ["SHA256SUMS", b"SHA256SUMS", Path("SHA256SUMS"), ["SHA256SUMS"], (it for it in [b"SHA256SUMS"])]:
        assert check(paths)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no names that are not UTF-8")
def test_check_takes_names_that_are_not_utf8(here):
    Path(os.fsdecode(b"\xff")).write_bytes(b"a")
    Path(os.fsdecode(b"\xfe.sha256")).write_bytes(hashlib.sha256(b"a").hexdigest().encode() + b"  \xff\nnonsense\n")
    report = check(b"\xfe.sha256", verbose=True)
    assert not report and os.fsencode(report.findings[0].path) == b"\xff"
    assert os.fsencode(report.malformed[0].list) == b"\xfe.sha256"
    assert digests(b"\xff", ["sha1"]) == {"sha1": hashlib.sha1(b"a").digest()}


def test_errors_name_the_value(here):
    (here / "SHA256SUMS").write_text(line(b"a", "a"))
    (here / "long").write_bytes(b"x" * (17 << 20))
    for call, error, text in [
        (lambda: check("nothing"), FileNotFoundError, "nothing"),
        (lambda: check(["SHA256SUMS", "nothing"]), FileNotFoundError, "nothing"),
        (lambda: check("long"), OSError, "long"),
        (lambda: check([]), ValueError, "at least one"),
        (lambda: check("SHA256SUMS", algorithm="sha255"), ValueError, '"sha255"; there are blake3, md5'),
        (lambda: check("SHA256SUMS", algorithm="crc32"), ValueError, '"crc32"'),
        (lambda: check(".", store="olama"), ValueError, '"olama"; there are huggingface'),
        (lambda: check(".", length=16), ValueError, "is a directory"),
        (lambda: check("SHA256SUMS", length=0), ValueError, "length"),
        (lambda: check("SHA256SUMS", length=16, algorithm="md5"), ValueError, "BLAKE3"),
        (lambda: check("SHA256SUMS", threads=0), ValueError, "threads"),
        (lambda: check(open(os.devnull)), TypeError, "open file"),  # noqa: SIM115
        (lambda: digests("nothing", ["md5"]), FileNotFoundError, "nothing"),
        (lambda: digests("SHA256SUMS", ["sha1", "sha255"]), ValueError, '"sha255"; there are blake3, md5'),
        (lambda: digests("SHA256SUMS", "sha1"), TypeError, r"\['sha1'\]"),
    ]:
        with pytest.raises(error, match=text):
            call()


def test_progress_counts_and_may_stop_a_run(here):
    (here / "a").write_bytes(bytes(100_000))
    (here / "SHA256SUMS").write_text(line(bytes(100_000), "a"))
    seen, of_one = [], []
    assert check("SHA256SUMS", progress=lambda files, bytes: seen.append((files, bytes)))
    digests("a", ["sha256"], progress=of_one.append)
    assert seen[-1] == (1, 100_000) and of_one[-1] == 100_000

    def stop(*_):
        raise LookupError("enough")

    for call in (lambda: check("SHA256SUMS", progress=stop), lambda: digests("a", ["md5"], progress=stop)):
        with pytest.raises(LookupError, match="enough"):
            call()


@on_unix
def test_a_run_ends_when_ctrl_c_is_pressed(here):
    # Files without content, which take minutes to read. In programs of their own, because only their main threads see
    # signals.
    with open("large", "wb") as file:
        file.truncate(1 << 40)
    (here / "SHA256SUMS").write_text(line(b"", "large"))
    for call in ("check('SHA256SUMS')", "digests('large', ['sha256', 'blake3'])"):
        program = f"""
            import signal, treewide
            signal.signal(signal.SIGALRM, signal.default_int_handler)
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            try:
                treewide.{call}
            except KeyboardInterrupt:
                print("interrupted")
        """
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, timeout=60)
        assert done.stdout == b"interrupted\n", call


@pytest.mark.parametrize("threads", [1, 2, treewide.AUTO])
@pytest.mark.parametrize("length", [0, 1, 100_000, 3_000_000])
def test_digests_are_those_of_hashlib_in_the_order_asked_for(here, length, threads):
    data = random.Random(length).randbytes(length)
    (here / "a").write_bytes(data)
    names = {"sha512": "sha512", "blake3": None, "md5": "md5", "sha3-256": "sha3_256", "sha256": "sha256"}
    found = digests("a", iter(names), threads=threads)
    assert list(found) == list(names)
    assert found.pop("blake3") == treewide.digest(data)
    assert found == {name: hashlib.new(names[name], data).digest() for name in found}
    blob = hashlib.sha1(b"blob %d\0" % length + data).digest()
    assert digests("a", ["git-blob-sha1", "git-blob-sha1"]) == {"git-blob-sha1": blob}


@on_unix
def test_digests_reads_once(here):
    # A pipe can be read only once.
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: Path("pipe").write_bytes(b"abc" * 100_000))
    writer.start()
    found = digests("pipe", ["blake3", "sha256", "md5"])
    writer.join()
    data = b"abc" * 100_000
    assert found["blake3"] == treewide.digest(data) and found["sha256"] == hashlib.sha256(data).digest()
