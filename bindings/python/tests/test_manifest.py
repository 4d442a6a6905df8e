"""`treewide.manifest` and `hash_tree`."""

import hashlib
import os
import pickle
import shutil
import subprocess
import sys

import pytest
import treewide
import treewide.outboard
from treewide import digest, manifest
from waiting import wait_for


@pytest.fixture
def tree(tmp_path):
    """A directory of files, and where its manifest goes."""
    root = tmp_path / "tree"
    (root / "sub").mkdir(parents=True)
    for name in ("a", "b", "sub/c", "sub/.hidden"):
        (root / name).write_bytes(name.encode() * 100)
    (root / "link").symlink_to("a")
    return root, tmp_path / "tree.b3"


def verdicts(report):
    assert sum(report.counts.values()) >= len(report.findings)
    return {it.path: it.verdict for it in report.findings}


def test_the_files_of_a_tree_by_their_paths(tree):
    root, _ = tree
    expected = {name: digest(name.encode() * 100) for name in ("a", "b", "sub/.hidden", "sub/c")}
    assert treewide.hash_tree(root) == expected
    assert sorted(treewide.hash_tree(str(root) + "/", hidden=False)) == ["a", "b", "sub/c"]
    assert treewide.hash_tree(root, follow=True)["link"] == expected["a"]
    assert treewide.hash_tree(root, key=b"k" * 32, length=5)["a"] == digest(b"a" * 100, key=b"k" * 32, length=5)
    seen = []
    treewide.hash_tree(root, progress=lambda *counts: seen.append(counts))
    assert seen[-1] == (4, 100 + 100 + 500 + 1100)
    with pytest.raises(FileNotFoundError) as caught:
        treewide.hash_tree(root / "none", errors="return")
    assert caught.value.filename == str(root / "none")
    with pytest.raises(NotADirectoryError):
        treewide.hash_tree(root / "a")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems may refuse such names")
def test_names_may_be_any_bytes(tree):
    root, path = tree
    with open(os.fsencode(root) + b"/\xff\n", "wb") as file:
        file.write(b"x")
    assert treewide.hash_tree(root)[os.fsdecode(b"\xff\n")] == digest(b"x")
    manifest.snapshot(root, path)
    assert manifest.digests(path)[os.fsdecode(b"\xff\n")] == digest(b"x")
    os.remove(os.fsencode(root) + b"/\xff\n")
    assert verdicts(manifest.verify(path, root)) == {os.fsdecode(b"\xff\n"): "removed"}


def test_what_cannot_be_read_stands_in_the_place_of_a_digest(tree):
    root, path = tree
    (root / "loop").symlink_to(root)
    with pytest.raises(OSError, match="loop"):
        treewide.hash_tree(root, follow=True)
    returned = treewide.hash_tree(root, follow=True, errors="return")
    assert isinstance(returned["loop"], OSError) and returned["link"] == digest(b"a" * 100)
    made = manifest.snapshot(root, path, follow=True)
    assert verdicts(made) == {"loop": "unreadable"} and not made.is_certain and not made


def test_a_tree_and_its_manifest(tree):
    root, path = tree
    made = manifest.snapshot(root, path)
    assert (made.total_files, made.total_bytes, made.findings) == (4, 1800, ())
    assert made.list_digest == digest(path.read_bytes()) and len(made.digest) == 32
    assert manifest.digests(path) == treewide.hash_tree(root)

    same = manifest.verify(path, root)
    assert same and same.is_certain and not same.differs and same.findings == ()
    assert (same.files_read, same.bytes_read, same.files_unread) == (4, 1800, 0)
    assert str(same) == "6 entries: 6 same"

    assert made and made.differs and made.counts["added"] == 6
    assert manifest.verify(path, root, expected=made.digest) and manifest.verify(path, root, expected=made.digest.hex())

    (root / "a").write_bytes(b"edited")
    (root / "b").rename(root / "sub" / "moved")
    (root / "new").touch()
    (root / "sub" / "c").unlink()
    report = manifest.verify(path, root)
    expected = {"a": "changed", "sub/moved": "moved", "new": "added", "sub/c": "removed"}
    assert verdicts(report) == expected and report.differs and report.is_certain and not report
    moved = next(it for it in report.findings if it.verdict == "moved")
    assert (moved.other, moved.type) == ("b", "file")
    assert pickle.loads(pickle.dumps(report)) == report
    assert verdicts(manifest.verify(path, root, only=["sub/"])).keys() == {"sub/moved", "sub/c"}

    other = path.with_name("new.b3")
    for end in ("", ".tw"):
        shutil.copy(f"{path}{end}", f"{other}{end}")
    updated = manifest.update(other, root)
    assert verdicts(updated) == expected and updated
    assert verdicts(manifest.diff(path, other)) == expected
    assert verdicts(manifest.diff(other, other)) == {}
    updated = manifest.scrub(path, root)
    assert path.read_bytes() == other.read_bytes() and updated.list_digest == digest(other.read_bytes())
    assert manifest.verify(path, root, expected=updated.digest) and manifest.verify(
        path, root, expected=updated.digest.hex()
    )


def test_the_command_line_reads_the_same(tree):
    root, path = tree
    manifest.snapshot(root, path, exclude=["*.tmp", "sub/"], hidden=False, modes=True)
    assert list(manifest.digests(path)) == ["a", "b"]
    run = [sys.executable, "-m", "treewide", "verify", path, root]
    assert subprocess.run(run).returncode == 0
    (root / "a").chmod(0o600)
    assert subprocess.run(run, capture_output=True).returncode == 1
    (report,) = manifest.verify(path, root).findings
    assert (report.path, report.verdict) == ("a", "changed") and "0600" in report.detail


def test_globs_that_accept_nothing_are_named(tree):
    root, path = tree
    manifest.snapshot(root, path)
    flip = (root / "a").stat()
    (root / "a").write_bytes(b"A" * 100)
    os.utime(root / "a", ns=(flip.st_atime_ns, flip.st_mtime_ns))
    made = manifest.update(path, root, accept_rot=["a", "b*"])
    assert verdicts(made)["a"] == "accepted" and made.idle_accepts == ["b*"] and made.files_kept == 0


def test_one_reading_verifies_old_lists_and_makes_outboards(tree):
    root, path = tree
    (root / "long").write_bytes(bytes(range(256)) * 400)
    sums = path.with_name("SHA256SUMS")
    names = ("a", "b", "sub/c", "long")
    sums.write_text("".join(f"{hashlib.sha256((root / it).read_bytes()).hexdigest()}  {it}\n" for it in names))
    folder = path.with_name("outboards")
    made = manifest.snapshot(root, path, against=sums, also=["sha256"], outboards=folder, min="20K")
    assert made and (made.as_listed, made.unlisted, made.outboards, made.outboards_failed) == (4, 1, 1, None)
    show = [sys.executable, "-m", "treewide", "manifest", "lines", "--algorithm", "sha256", path]
    assert set(sums.read_text().splitlines()) < set(
        subprocess.run(show, capture_output=True, text=True).stdout.splitlines()
    )
    # It says which bytes differ.
    with open(root / "long", "r+b") as file:
        file.seek(50_000)
        file.write(b"!")
    (finding,) = manifest.verify(path, root, outboards=folder, min=20_000).findings
    assert finding.ranges == (treewide.outboard.Damage(49_152, 65_536, "bad"),) and "49152..65536" in finding.detail
    match finding:
        case manifest.Finding("long", "changed", ranges=(treewide.outboard.Damage(start, stop),)):
            assert (start, stop) == (49_152, 65_536)
        case _:
            raise AssertionError(finding)
    assert pickle.loads(pickle.dumps(finding)) == finding and hash(finding) and finding != "long"
    with pytest.raises(AttributeError):
        finding.path = "other"
    # What an old list says otherwise is not recorded.
    other = path.with_name("other.b3")
    with pytest.raises(manifest.ManifestError, match=r"other\.b3: was not written.*not as listed: long") as caught:
        manifest.snapshot(root, other, against=[sums])
    (differs,) = caught.value.findings
    assert (differs.path, differs.status) == ("long", "failed") and not other.exists()
    sums.write_text("nonsense\n")
    with pytest.raises(manifest.ManifestError, match="nonsense; the list cannot be relied on"):
        manifest.snapshot(root, other, against=sums)
    with pytest.raises(ValueError, match="there is no algorithm"):
        manifest.update(path, root, also=["crc32"])
    with pytest.raises(NotADirectoryError):
        manifest.verify(path, root, outboards=sums)


def test_what_is_wrong_is_said(tree):
    root, path = tree
    with pytest.raises(FileNotFoundError):
        manifest.verify(path, root)
    manifest.snapshot(root, path)
    with pytest.raises(manifest.ManifestError, match="has the digest"):
        manifest.verify(path, root, expected=bytes(32))
    for wrong in (b"short", "abc", "zz" * 32):
        with pytest.raises(ValueError, match="32 bytes"):
            manifest.verify(path, root, expected=wrong)
    with pytest.raises(TypeError):
        manifest.verify(path, root, expected=32)
    with pytest.raises(manifest.ManifestError, match="no index"):
        manifest.snapshot(root, path.with_name("list.b3"), index=False)
        manifest.verify(path.with_name("list.b3"), root, expected=bytes(32))
    with pytest.raises(TypeError, match=r"pass \['\*\.tmp'\]"):
        manifest.snapshot(root, path, exclude="*.tmp")
    with pytest.raises(ValueError, match="cannot be used"):
        manifest.snapshot(root, path, exclude=["a["])
    with pytest.raises(ValueError, match="percentage"):
        manifest.scrub(path, root, budget="many")
    with pytest.raises(OSError, match="is not a directory"):
        manifest.verify(path, root / "a")
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(manifest.ManifestError, match=r"tree\.b3"):
        manifest.verify(path, root)
    assert issubclass(manifest.ManifestError, ValueError)


def test_a_run_that_is_stopped_leaves_nothing(tree):
    root, path = tree

    class Stop(Exception):
        pass

    def stop(files, bytes):
        raise Stop

    for run in (manifest.snapshot, treewide.hash_tree):
        with pytest.raises(Stop):
            run(*((root, path) if run is manifest.snapshot else (root,)), progress=stop)
    assert sorted(it.name for it in path.parent.iterdir()) == ["tree"]


def test_what_is_there_twice_and_what_is_missing(tree):
    root, list = tree
    (root / "copy").write_bytes(b"a" * 100)
    (root / "again").mkdir()
    (root / "again/c").write_bytes((root / "sub/c").read_bytes())
    (root / "again/.hidden").write_bytes((root / "sub/.hidden").read_bytes())
    # Until the clock of the file system has moved, by two of its steps: files that are younger are read.
    now = root.stat().st_ctime_ns
    clock = list.parent / "clock"
    wait_for(lambda: clock.write_bytes(b"x") and clock.stat().st_ctime_ns > now + 20_000_000)
    manifest.snapshot(root)
    of_tree, of_list = manifest.dupes(root, similar=80, quick=True), manifest.dupes(list, similar=80)
    assert of_tree.files_read == of_list.files_read == 0
    folders, files = of_list.groups
    assert (folders.kind, folders.reclaimable, folders.files) == ("folders", 1600, 2)
    assert [it.path for it in folders.members] == ["again", "sub"]
    assert (files.kind, files.digest, files.size) == ("files", digest(b"a" * 100), 100)
    assert files.members[0] == manifest.Member("a", str(list), "claimed", None)
    assert of_tree.groups[1].members[0].evidence == "metadata"
    assert (of_list.redundant, of_list.reclaimable) == (3, 1700)
    backup = shutil.copytree(root, list.parent / "backup", symlinks=True)
    there = manifest.missing(root, backup)
    assert not there and (there.total_files, there.by_read) == (7, 7)
    there = manifest.missing(backup, list, threads=2)
    assert not there and (there.by_read, there.by_claimed) == (0, 7)
    # A file that rotted is not a copy, whatever the manifest next to it says.
    for name in ("a", "copy"):
        (backup / name).write_bytes(b"b" * 100)
    gone = manifest.missing(list, backup)
    assert gone and gone.by_read == 5
    assert [(it.path, it.size, it.evidence) for it in gone.files] == [("a", 100, "claimed"), ("copy", 100, "claimed")]
    assert manifest.missing(list, root).not_counted == 7


def test_similar_folders_have_a_percentage_and_links_a_first_name(tmp_path):
    for at in range(10):
        for name in "xy":
            (tmp_path / name).mkdir(exist_ok=True)
            (tmp_path / name / str(at)).write_bytes(b"%d" % at * 100 if at != 3 else name.encode() * 100)
    os.link(tmp_path / "y/0", tmp_path / "y/link")
    *files, similar = manifest.dupes(tmp_path, similar=80).groups
    assert (similar.kind, similar.percent, similar.digest, similar.files) == ("similar", 81, None, None)
    linked = next(it for it in files if len(it.members) == 3)
    assert (linked.percent, linked.files) == (None, 1)
    assert [it.link_of for it in linked.members] == [None, None, str(tmp_path / "y/0")]


def test_manifest_is_shown_as_it_was(tree):
    root, list = tree
    manifest.snapshot(root)
    was = manifest.digests(list)
    (root / "a").unlink()
    manifest.update(list, root)
    assert manifest.digests(f"{list}@-1") == was
    assert [it.verdict for it in manifest.diff(f"{list}@-1", list).findings] == ["removed"]
    (run,) = manifest.history(list)
    assert (run.new, run.changed, run.gone, run.gap) == (0, 0, 1, None)
    (record,) = manifest.history(list, "a")
    assert (record.until, record.type, record.digest, record.size) == (run.run, "file", digest(b"a" * 100), 100)
    manifest.update(list, root, forget="all")
    assert manifest.history(list, "a") == ()
    with pytest.raises(ValueError, match="is not an age"):
        manifest.update(list, root, forget="3")


def test_nothing_to_look_for_is_not_found(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "b/x").write_bytes(b"x")
    with pytest.raises(manifest.ManifestError, match="has no file, so nothing was compared"):
        manifest.missing(tmp_path / "empty", tmp_path / "b")


def test_operands_that_cannot_be_compared_are_refused(tree):
    root, list = tree
    manifest.snapshot(root)
    with pytest.raises(ValueError, match="has files of"):
        manifest.dupes(root, list)
    with pytest.raises(ValueError, match="percentage"):
        manifest.dupes(list, similar=101)
    with pytest.raises(TypeError, match="at least one"):
        manifest.dupes()
    with pytest.raises(TypeError, match="in which it looks"):
        manifest.missing(list)
    with pytest.raises(FileNotFoundError):
        manifest.missing(list, root / "none")
    (root / "list").write_text("nonsense\n")
    with pytest.raises(manifest.ManifestError, match="not a checksum line"):
        manifest.dupes(root / "list")
