"""Tests what the class has in addition to that of the package `blake3`, whose own tests run too."""

import copy
import hashlib
import io
import os
import pickle
import signal
import socket
import sys
import threading

import numpy as np
import pytest
import treewide
from conftest import EDGES, pattern
from treewide import blake3, digest


def hasher_of(data):
    return blake3(data, key=b"k" * 32, max_threads=3)


def test_blake3_takes_items_of_one_byte():
    for fine in (np.zeros(3, "u1"), np.zeros((2, 3), "i1"), memoryview(bytes(6)).cast("c")):
        assert blake3(fine).digest() == digest(fine)
    for wrong in (np.zeros(3, "?"), np.zeros(3, "u2"), np.float32(1), memoryview(bytes(6)).cast("H")):
        with pytest.raises(BufferError, match=r"treewide\.digest"):
            blake3(wrong)
        with pytest.raises(BufferError, match=r"treewide\.digest"):
            blake3().update(wrong)
    for wrong in (np.zeros((3, 3), "u1").T, memoryview(bytes(6))[::2]):
        with pytest.raises(BufferError, match="ascontiguousarray"):
            blake3(wrong)


def test_blake3_in_pieces():
    data = pattern(70_000)
    for piece in (1, 63, 64, 1000, 1024, 1025, 4096, 33_333):
        hasher = blake3()
        for at in range(0, len(data) if piece > 1 else 3000, piece):
            assert hasher.update(data[at : at + piece]) is hasher
        assert hasher.digest() == digest(data[: hasher.count])


def test_blake3_is_final():
    with pytest.raises(AttributeError):
        blake3().x = 1
    with pytest.raises(TypeError):
        type("Sub", (blake3,), {})
    with pytest.raises(AttributeError):
        blake3().count = 3


def test_blake3_fits_into_hashlib(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(pattern(300_000))
    with path.open("rb") as file:
        assert hashlib.file_digest(file, blake3).digest() == digest(path.read_bytes())
    assert treewide.new("blake3", b"abc").digest() == digest(b"abc")
    assert treewide.new("BLAKE3", key=bytes(32)).digest() == digest(b"", key=bytes(32))
    with pytest.raises(ValueError, match="sha256"):
        treewide.new("sha256")


def test_count_and_reset():
    hasher = hasher_of(bytes(5000))
    assert hasher.count == 5000
    hasher.reset()
    assert (hasher.count, hasher.digest()) == (0, digest(b"", key=b"k" * 32))


def test_digest_into_writes_all_of_a_buffer():
    hasher = blake3(b"abc")
    for length in (0, 1, 32, 33, 1000, 100_000):
        out = bytearray(length)
        hasher.digest_into(out)
        assert out == hasher.digest(length)
        hasher.digest_into(out, seek=2**40 + 5)
        assert out == hasher.digest(length, seek=2**40 + 5)
    rows = np.zeros((4, 8), "u8")
    hasher.digest_into(rows)
    assert rows.tobytes() == hasher.digest(256)
    with pytest.raises(BufferError, match="read-only"):
        hasher.digest_into(b"12345")
    with pytest.raises(BufferError, match="ascontiguousarray"):
        hasher.digest_into(np.zeros((4, 4), "u1").T)
    with pytest.raises(TypeError):
        hasher.digest_into("text")


def test_digest_at_the_end_of_the_output():
    hasher = blake3(b"abc")
    assert len(hasher.digest(100, seek=2**64 - 1)) == 100
    with pytest.raises(OverflowError):
        hasher.digest(seek=2**64)
    with pytest.raises(OverflowError):
        hasher.digest(seek=-1)


class Reads:
    """Has `read` and no `readinto`."""

    def __init__(self, pieces):
        self.pieces = iter(pieces)

    def read(self, size):
        return next(self.pieces, b"")


class ReadsInto:
    """Says that it read as many bytes as the test wants."""

    def __init__(self, result):
        self.result = result

    def readinto(self, buffer):
        return self.result


def test_update_reader_reads_to_the_end():
    data = pattern(1_000_000)
    assert blake3(b"ab").update_reader(io.BytesIO(data)).digest() == digest(b"ab" + data)
    assert blake3().update_reader(Reads([b"ab", bytearray(b"c")])).digest() == digest(b"abc")
    left, right = socket.socketpair()
    with left, right:
        left.sendall(b"x" * 1000)
        left.shutdown(socket.SHUT_WR)
        assert blake3().update_reader(right.makefile("rb")).digest() == digest(b"x" * 1000)
    hasher = blake3()
    assert hasher.update_reader(io.BytesIO(b"")) is hasher


def test_update_reader_refuses_what_is_not_a_binary_file():
    with pytest.raises(TypeError, match="binary mode"):
        blake3().update_reader(io.StringIO("text"))
    for lie in (-1, 10**9):
        with pytest.raises((ValueError, OverflowError)):
            blake3().update_reader(ReadsInto(lie))
    with pytest.raises(BlockingIOError):
        blake3().update_reader(ReadsInto(None))
    with pytest.raises(TypeError):
        blake3().update_reader(ReadsInto("3"))
    with pytest.raises(TypeError, match="open file"):
        blake3().update_reader(3)

    class Shrinks:
        def readinto(self, buffer):
            buffer.clear()

    with pytest.raises(BufferError):
        blake3().update_reader(Shrinks())


def test_update_mmap_names_the_file_that_fails(tmp_path):
    hasher = blake3(b"before")
    for path, error in [(tmp_path / "none", FileNotFoundError), (tmp_path, IsADirectoryError)]:
        with pytest.raises(error) as caught:
            hasher.update_mmap(path)
        assert caught.value.filename == str(path)
    with pytest.raises((OSError, ValueError)):
        hasher.update_mmap("a\0b")
    with pytest.raises(TypeError):
        hasher.update_mmap(3)
    assert hasher.digest() == digest(b"before")


@pytest.mark.parametrize("max_threads", [1, 2, -1])
def test_update_mmap_appends(tmp_path, max_threads):
    path = tmp_path / "file"
    for length in (0, 1, 5000, 20_000_000):
        path.write_bytes(pattern(length))
        hasher = blake3(b"ab", max_threads=max_threads)
        assert hasher.update_mmap(str(path)) is hasher
        assert hasher.digest() == digest(b"ab" + pattern(length))


def test_states_continue():
    for length in EDGES:
        data = pattern(length)
        first = hasher_of(data[: length // 2])
        continued = [
            blake3.from_state(first.to_state()),
            blake3.from_state(bytearray(first.to_state()), max_threads=blake3.AUTO),
            first.copy(),
            copy.copy(first),
            copy.deepcopy(first),
        ]
        continued += [pickle.loads(pickle.dumps(first, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
        expected = hasher_of(data).digest()
        for other in continued:
            assert other.update(data[length // 2 :]).digest() == expected
        assert first.count == length // 2


def test_a_state_of_an_earlier_release_is_read():
    state = bytes.fromhex(
        "747265657769646501106b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b00000000000000000100000000000000"
        "dc018b4f6f97aef004fe124bef84950157c35dfcafd1c2309fbf384ba4c4a78e1c1c6361626361626361626361626361626361626361626361"
        "6263616263000000000000000000000000000000000000000000000000000000000000000000000000797714160beb02c76d484fb2662d7763"
        "1d9045709885be76c9d30c3ca2994d63703e0e29a72ba96db38d66baf28f4b1b84917d8ce0814ea5e3d848ed2740f52c"
    )
    hasher = hasher_of(b"abc" * 500)
    assert hasher.to_state() == state
    assert blake3.from_state(state).digest() == hasher.digest()


def test_from_state_refuses_what_is_not_a_state():
    state = blake3(pattern(5000)).to_state()
    for at in range(len(state)):
        damaged = bytearray(state)
        damaged[at] ^= 1
        with pytest.raises(ValueError, match="state"):
            blake3.from_state(damaged)
    for wrong in (b"", b"treewide", state[:-1], state + b"x", bytes(2000)):
        with pytest.raises(ValueError, match="state"):
            blake3.from_state(wrong)
    with pytest.raises(TypeError):
        blake3.from_state("treewide")


def forged(**fields):
    """A state with a valid check, as an attacker would make it."""
    state = bytearray(blake3().to_state()[:-32])
    for offset, value in fields.values():
        state[offset : offset + 8] = value.to_bytes(8, "little")
    return state


def test_from_state_at_the_limit_of_the_length():
    chunks = 2**54 - 1
    state = forged(chunks=(50, chunks)) + bytes(32) * chunks.bit_count()
    hasher = blake3.from_state(state + digest(state))
    assert hasher.count == chunks * 1024
    hasher.update(bytes(1023))
    for data in (b"x", bytes(3000)):
        with pytest.raises(OverflowError, match=r"2\*\*64"):
            hasher.update(data)
    assert hasher.count == 2**64 - 1
    assert len(hasher.digest()) == 32


def test_from_state_refuses_a_subtree():
    state = forged(first=(42, 16))
    with pytest.raises(ValueError, match="subtree"):
        blake3.from_state(state + digest(state))


def test_compat_installs_itself():
    import treewide.compat as compat

    before = sys.modules.pop("blake3", None)
    try:
        compat.install()
        import blake3 as found

        assert found.blake3 is blake3 and found.__version__ == treewide.__version__
        compat.install()
        sys.modules["blake3"] = io
        with pytest.raises(ImportError, match="imported before"):
            compat.install()
    finally:
        sys.modules.pop("blake3", None)
        if before is not None:
            sys.modules["blake3"] = before


class Failing:
    """A file that fails after some bytes."""

    def __init__(self, error):
        self.left, self.error = [b"some", b"more"], error

    def read(self, size):
        if not self.left:
            raise self.error
        return self.left.pop()


def test_update_reader_that_fails_appends_nothing():
    hasher = blake3(b"before")
    for error in (OSError("gone"), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            hasher.update_reader(Failing(error))
        assert hasher.digest() == blake3(b"before").digest()
    with pytest.raises(RuntimeError, match="other input"):
        hasher.update_reader(Appending(hasher))


class Appending:
    """A file that appends to the hasher that reads it."""

    def __init__(self, hasher):
        self.hasher, self.left = hasher, [b"", b"piece"]

    def read(self, size):
        self.hasher.update(b"other input")
        return self.left.pop()


def test_update_reader_says_what_to_pass_instead(tmp_path):
    left, right = socket.socketpair()
    with left, right:
        for wrong, advice in (("name", "update_mmap"), (tmp_path, "update_mmap"), (left, "makefile"), (3, "readinto")):
            with pytest.raises(TypeError, match=advice):
                blake3().update_reader(wrong)
    with pytest.raises(TypeError, match="closefd"):
        treewide.hash_file(3)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of Unix")
def test_update_reader_stops_at_ctrl_c():
    # A reader in C, which looks for no signal by itself.
    with open("/dev/zero", "rb") as zeros:
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            blake3().update_reader(zeros)
        timer.join()


def test_repr_says_how_much_was_hashed():
    assert repr(blake3(b"abc")) == "<treewide.blake3 of 3 bytes>"
