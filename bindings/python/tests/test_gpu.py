"""`treewide.gpu`, with the stand-in for NVIDIA's driver whose device is the CPU, and on a GPU where there is one."""

import contextlib
import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import pattern
from dlpack_by_hand import Lent
from driver_by_hand import has_driver, standin_driver
from treewide import digest, gpu, hash_many, weights
from treewide._treewide import Clash, Parts, _gpu_hash_blocks

#: Lengths around chunks and tiles of 128 chunks.
LENGTHS = (0, 1, 64, 1023, 1024, 1025, 5000, 128 * 1024, 128 * 1024 + 1, 1_000_003)


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    # By this name it is found in place of the driver.
    return ctypes.CDLL(standin_driver(tmp_path_factory.mktemp("driver")), mode=ctypes.RTLD_GLOBAL)


@contextlib.contextmanager
def in_context(driver):
    """Calls of the driver by the test itself are made in here."""
    context = ctypes.c_void_p()
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    driver.cuCtxPushCurrent_v2(context)
    yield
    driver.cuCtxPopCurrent_v2(ctypes.byref(context))


def new_stream(driver):
    stream = ctypes.c_void_p()
    with in_context(driver):
        assert driver.cuStreamCreate(ctypes.byref(stream), 1) == 0
    return stream.value


def cuda(data, **options):
    """A tensor of bytes on device 0."""
    return Lent(data, (len(data),), 8, device=(2, options.pop("index", 0)), **options)


@pytest.mark.skipif(has_driver(), reason="this machine has NVIDIA's driver")
def test_without_a_driver_it_says_so():
    program = """if True:
        import treewide.gpu
        from dlpack_by_hand import Lent
        (found,) = treewide.gpu.devices()
        print(found.problem)
        try:
            treewide.gpu.digest(Lent(b"abc", (3,), 8, device=(2, 0)))
        except RuntimeError as error:
            print(error)
        assert treewide.gpu.hash_many([]).tolist() == [], "there is nothing to do"
    """
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=env).stdout
    listed, raised = said.splitlines()
    assert "driver" in listed and raised == listed


def test_tensors_have_the_digests_of_their_bytes(driver):
    assert [it.index for it in gpu.devices()] == [0, 1] and all(it.problem is None for it in gpu.devices())
    for index in (0, 1):
        for length in LENGTHS:
            data = pattern(length)
            for mode in ({}, {"key": b"k" * 32}, {"derive_key_context": "ctx"}, {"length": 100}, {"length": 1}):
                tensor = cuda(data, index=index)
                assert gpu.digest(tensor, **mode) == digest(data, **mode)
                assert tensor.deleted == 1
    tensor = Lent(pattern(80), (5, 3), 16, device=(13, 0), byte_offset=7)
    assert gpu.digest(tensor) == digest(pattern(80)[7:37])


@pytest.mark.parametrize("version", [None, (1, 0), (1, 1)])
def test_many_tensors_in_one_call(driver, version):
    inputs = {f"layer.{length}": pattern(length) for length in LENGTHS}
    lent = {name: cuda(data, version=version) for name, data in inputs.items()}
    expected = {name: digest(data) for name, data in inputs.items()}
    assert gpu.hash_many(lent) == expected
    assert gpu.hash_many(lent.values()).tolist() == list(expected.values())
    keyed = gpu.hash_many(iter(lent.values()), key=b"k" * 32)
    assert keyed == hash_many(list(inputs.values()), key=b"k" * 32)
    assert all(it.deleted == 3 for it in lent.values())
    assert gpu.hash_many({}) == {} and len(gpu.hash_many([])) == 0
    rows = Lent(pattern(60), (4, 5), 24, device=(2, 0))
    assert gpu.hash_many(rows).tolist() == [digest(pattern(60)[i : i + 15]) for i in range(0, 60, 15)]


def test_the_producer_is_told_the_stream(driver):
    stream = new_stream(driver)

    class OfPyTorch:
        cuda_stream = stream

    class OfCuPy:
        ptr = stream

    class OfTheProtocol:
        def __cuda_stream__(self):
            return (0, stream)

    for given, asked in [(None, 1), (0, 1), (1, 1), (stream, stream)] + [
        (kind(), stream) for kind in (OfPyTorch, OfCuPy, OfTheProtocol)
    ]:
        tensor = cuda(b"abc")
        assert gpu.digest(tensor, stream=given) == digest(b"abc")
        assert tensor.asked == [{"stream": asked, "max_version": (1, 1)}]

    class OfNumpy:
        def __index__(self):
            return stream

    assert gpu.digest(cuda(b"abc"), stream=OfNumpy()) == digest(b"abc")
    for wrong in (-1, 1 << 64):
        with pytest.raises(ValueError, match=str(wrong)):
            gpu.digest(cuda(b"abc"), stream=wrong)
    for wrong in ("0", True, 1.0):
        with pytest.raises(TypeError, match=f"not {type(wrong).__name__}"):
            gpu.digest(cuda(b"abc"), stream=wrong)


def test_rows_without_bytes_and_in_parts_of_bytes(driver):
    def rows(shape, bits=8, data=b""):
        return Lent(data or None, shape, bits, device=(2, 0))

    assert gpu.hash_many(rows((0, 5))).tolist() == []
    assert gpu.hash_many(rows((3, 0))).tolist() == [digest(b"")] * 3
    endless = rows((1 << 58, 0))
    with pytest.raises(MemoryError, match="no memory for a list"):
        gpu.hash_many(endless)
    assert endless.deleted == 1
    assert gpu.hash_many(rows((2, 2), 4, b"ab")).tolist() == [digest(b"a"), digest(b"b")]
    for shape, bits in (((2, 1), 4), ((3, 3), 2)):
        for hashes, device in ((gpu.hash_many, (2, 0)), (hash_many, (1, 0))):
            with pytest.raises(BufferError, match="not whole bytes"):
                hashes(Lent(b"abc", shape, bits, device=device))


def test_digests_stay_on_the_device(driver):
    inputs = [pattern(length) for length in LENGTHS]
    lent = [cuda(data) for data in inputs]
    out = cuda(bytes(32 * len(inputs)))
    gpu.hash_many_to(lent, out)
    assert out.deleted == 0 and lent[-1].deleted == 0, "nothing is given back before the work is done"
    assert out.memory.raw[: 32 * len(inputs)] == bytes(32 * len(inputs)), "nothing waited"
    with in_context(driver):
        assert driver.cuStreamSynchronize(ctypes.c_void_p(1)) == 0
    assert out.memory.raw[: 32 * len(inputs)] == hash_many(inputs).tobytes()
    for _ in range(3):  # the stand-in says that work is done when it is asked again
        gpu.digest(cuda(b""))
    assert out.deleted == 1 and all(it.deleted == 1 for it in lent)
    gpu.hash_many_to([], cuda(b""))


def test_what_is_not_taken_is_said(driver):
    for refused, error, words in [
        (b"abc", TypeError, "and not bytes"),
        (Lent(b"abc", (3,), 8), BufferError, "treewide.digest, or x.cuda()"),
        (Lent(b"abc", (3,), 8, device=(10, 0)), BufferError, "on ROCm device 0"),
        (Lent(b"abcdef", (3,), 8, strides=(2,), device=(2, 0)), BufferError, "not contiguous"),
        (cuda(b"abc", index=7), RuntimeError, "no CUDA device 7"),
    ]:
        with pytest.raises(error) as caught:
            gpu.digest(refused)
        assert words in str(caught.value)
        with pytest.raises(error) as caught:
            gpu.hash_many({"first": cuda(b"a"), "second": refused} if error is not RuntimeError else [refused])
        if error is not RuntimeError:
            assert "'second'" in caught.value.__notes__[0]
    with pytest.raises(BufferError, match="CUDA device 1, and the first one on 0"):
        gpu.hash_many([cuda(b"a"), cuda(b"b", index=1)])
    with pytest.raises(TypeError, match=r"pass \[x\]"):
        gpu.hash_many(cuda(b"abc"))
    with pytest.raises(BufferError, match=r"pass it to treewide\.gpu"):
        digest(cuda(b"abc"))

    shared = cuda(bytes(64))
    for out, error, words in [
        (cuda(bytes(31)), ValueError, "31 bytes"),
        (cuda(bytes(32), flags=1), BufferError, "read-only"),
        (cuda(bytes(32), index=1), BufferError, "device 1"),
        (Lent(bytes(32), (32,), 8), BufferError, "x.cuda()"),
        (cuda(bytes(40), byte_offset=0), ValueError, "40 bytes"),
    ]:
        with pytest.raises(error) as caught:
            gpu.hash_many_to([cuda(b"abc")], out)
        assert words in str(caught.value)
    with pytest.raises(ValueError, match="same memory"):
        gpu.hash_many_to([shared, shared], shared)


def test_a_call_that_fails_gives_tensors_back_once(driver):
    tensor, out = cuda(b"abc"), cuda(bytes(32))
    with pytest.raises(MemoryError):
        gpu.digest(tensor, length=(1 << 31) + 1)  # more than the stand-in has
    assert tensor.deleted == 1
    with pytest.raises(ValueError, match="multiple of 4 bytes"):
        gpu.hash_many_to([tensor], Lent(bytes(40), (32,), 8, device=(2, 0), byte_offset=1))
    gpu.hash_many_to([tensor], out)
    for _ in range(3):
        gpu.digest(cuda(b""))
    assert tensor.deleted == 3 and out.deleted == 1


def shards(inputs, ranks, rank, **mode):
    """Parts of inputs, and a tensor with the range that a rank has of each, not at a multiple of any word."""
    pieces, expected = [], []
    for length, data in inputs.items():
        start, stop = (length * rank // ranks, length * (rank + 1) // ranks)
        parts, on_cpu = (Parts(length, object=b"w", **mode) for _ in range(2))
        pieces.append((parts, cuda(b"abc" + data[start:stop] + b"d"), [(start, 3, 3 + stop - start)]))
        on_cpu.hash(data[start:stop], start)
        expected.append(on_cpu.to_bytes())
    return pieces, expected


def blocks(total, of_range):
    """The blocks of the ends of a range."""
    at, start, stop = of_range
    end = at + stop - start
    first = end if total <= 1024 else min(end, -(-at // 1024) * 1024)
    last = end if end == total else max(first, end // 1024 * 1024)
    return -(-(first - at) // 64) + -(-(end - last) // 64)


@pytest.mark.parametrize("ranks", [1, 2, 3, 7])
def test_hash_parts_takes_shards_with_any_ends(driver, ranks):
    driver.treewide_copied_back.restype = ctypes.c_size_t
    inputs = {length: pattern(length) for length in LENGTHS}
    for mode in ({}, {"key": b"k" * 32}, {"derive_key_context": "ctx"}):
        whole = {length: Parts(length, object=b"w", **mode) for length in LENGTHS}
        for rank in range(ranks):
            pieces, expected = shards(inputs, ranks, rank, **mode)
            before = driver.treewide_copied_back()
            gpu.hash_parts(pieces)
            copied = driver.treewide_copied_back() - before
            assert [parts.to_bytes() for parts, _, _ in pieces] == expected
            assert all(tensor.deleted == 1 for _, tensor, _ in pieces)
            # A value for each subtree, and 128 bytes for each block of an end. The only chunk of an input is an end.
            values = sum(len(parts.parts()) for parts, _, _ in pieces if parts.total > 1024)
            assert copied == 32 * values + 128 * sum(blocks(parts.total, *ranges) for parts, _, ranges in pieces)
            for parts, _, _ in pieces:
                whole[parts.total].absorb(Parts.from_bytes(parts.to_bytes(), **mode))
        assert {length: parts.finish() for length, parts in whole.items()} == {
            length: digest(data, **mode) for length, data in inputs.items()
        }


def test_hash_parts_takes_runs_and_blocks(driver):
    # Columns of rows: less than a block, less than a chunk, whole chunks, and more than a tile.
    for rows, run, ranks in ((900, 6, 7), (64, 331, 3), (33, 2048, 2), (5, 140_001, 2)):
        full = pattern(rows * run * ranks)
        whole, blocks = Parts(len(full)), Parts(len(full))
        for rank in range(ranks):
            starts = [(row * ranks + rank) * run for row in range(rows)]
            tensor = cuda(b"".join(full[at : at + run] for at in starts))
            ranges = [(at, row * run, (row + 1) * run) for row, at in enumerate(starts)]
            gpu.hash_parts([(whole, tensor, ranges[::2]), (whole, tensor, tuple(ranges[1::2]))])
            indices = [[(0, rows)], [(rank * run, run)]]
            _gpu_hash_blocks([(blocks, tensor, (1, (rows, run * ranks), indices))], stream=1)
        assert whole.unchecked() == blocks.unchecked() == []
        assert whole.finish() == blocks.finish() == digest(full)


def test_hash_parts_is_in_order_with_the_stream(driver):
    stream = new_stream(driver)
    data, tensor = pattern(200_000), cuda(bytes(200_000))
    parts = Parts(len(data))
    with in_context(driver):
        # Not done before someone waits for the stream.
        place = ctypes.c_void_p(ctypes.addressof(tensor.memory))
        assert driver.cuMemcpyHtoDAsync_v2(place, data, ctypes.c_size_t(len(data)), ctypes.c_void_p(stream)) == 0
    assert tensor.memory.raw == bytes(200_000)
    gpu.hash_parts([(parts, tensor, [(0, 0, len(data))])], stream=stream)
    assert parts.finish() == digest(data) and tensor.asked[0]["stream"] == stream


def test_pieces_of_an_engine_are_hashed_on_its_devices(driver):
    rows, columns = 40, 331
    full = pattern(rows * columns)
    half = b"".join(full[row * columns : row * columns + 100] for row in range(rows))
    rest = b"".join(full[row * columns + 100 : (row + 1) * columns] for row in range(rows))

    def lent(data, *shape, **options):
        return Lent(data, shape, 8, device=(2, options.pop("index", 0)), **options)

    class Shaped:
        """A tensor with the attributes that `Piece` asks for."""

        def __init__(self, lent):
            self.lent, self.shape, self.itemsize, self.dtype = lent, tuple(lent.shape), 1, "uint8"

        def __dlpack__(self, **options):
            return self.lent.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.lent.device

    def answer(left, right, bias):
        return weights.parts(
            {
                "w": [weights.Piece(left, (rows, columns), (0, 0)), weights.Piece(right, (rows, columns), (0, 100))],
                "bias": weights.Piece(bias, (3,), (0,)),
            },
            stream=new_stream(driver),
        )

    left, right = Shaped(lent(half, rows, 100)), Shaped(lent(rest, rows, 231, index=1))
    found = weights.merge([answer(left, right, b"abc")])
    assert {name: it.digest for name, it in found.items()} == {"w": digest(full), "bias": digest(b"abc")}
    strided = Shaped(lent(half, rows, 100, strides=(1, rows)))
    with pytest.raises(BufferError, match="w: this tensor is not contiguous"):
        answer(strided, right, Shaped(cuda(b"abc")))
    with pytest.raises(ValueError, match="w: two of its pieces have other bytes"):
        weights.parts({"w": [weights.Piece(Shaped(cuda(data)), (5000,), (0,)) for data in (full[:5000], bytes(5000))]})


def test_hash_parts_says_what_it_refuses(driver):
    assert gpu.hash_parts([]) is None
    parts = Parts(5000)
    for item, error, words in [
        ((parts, cuda(b"abc"), [(0, 1, 4)]), ValueError, "bytes 1..4 of a tensor of 3 bytes"),
        ((parts, cuda(b"abc"), [(0, 2, 1)]), ValueError, "bytes 2..1"),
        ((parts, cuda(b"abc"), [(4998, 0, 3)]), ValueError, "at byte 4998 of 5000"),
        ((parts, cuda(b"abc"), [(2**64 - 1, 0, 3)]), ValueError, "of 5000"),
        ((parts, cuda(b"abc", index=1), []), BufferError, "CUDA device 1, and the first one on 0"),
        ((Parts(5000, key=b"k" * 32), cuda(b"abc"), []), ValueError, "different keys or contexts"),
        ((parts, b"abc", []), TypeError, "and not bytes"),
    ]:
        first = cuda(b"abc")
        with pytest.raises(error, match=words) as caught:
            gpu.hash_parts([(parts, first, [(0, 0, 3)]), item])
        assert caught.value.__notes__ == ["this is about item 1 in the argument of hash_parts"]
        assert first.deleted == 1 and parts.missing() == [(0, 5000)]
    # Other bytes of the same place.
    before, other = Parts(5000), Parts(5000)
    parts.hash(pattern(5000), 0)
    given = cuda(bytes(5000))
    with pytest.raises(Clash) as caught:
        gpu.hash_parts([(it, given, [(0, 0, 5000)]) for it in (before, parts, other)])
    assert caught.value.here == (0, 4096)
    assert before.missing() == [] and parts.finish() == digest(pattern(5000)) and other.missing() == [(0, 5000)]


def test_a_forked_process_is_told(driver):
    assert gpu.digest(cuda(b"abc")) == digest(b"abc")
    unfinished = cuda(b"abc")
    gpu.hash_many_to([unfinished], cuda(bytes(32)))
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        for _ in range(3):
            try:
                gpu.digest(cuda(b"abc"))
            except RuntimeError as error:
                os.write(write, str(error).encode())
        # What the parent's work uses is not given back here.
        os._exit(unfinished.deleted)
    os.close(write)
    with os.fdopen(read, "rb") as said:
        assert b"forked" in said.read()
    assert os.waitpid(child, 0)[1] == 0


def test_more_streams_than_stay_open(driver):
    streams = [new_stream(driver) for _ in range(12)]
    for _ in range(2):
        for stream in streams:
            assert gpu.digest(cuda(b"abc"), stream=stream) == digest(b"abc")


@pytest.mark.skipif(not has_driver(), reason="this machine has no NVIDIA driver")
@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_tensors_of_libraries(library):
    module = pytest.importorskip(library)
    if library == "torch":
        made = {name: module.randn(n, device="cuda") for name, n in (("a", 3), ("b", 100_000), ("c", 5_000_000))}
        made["d"] = made["b"].to(module.bfloat16)
        on_cpu = {name: it.cpu() for name, it in made.items()}
        out = module.empty((len(made), 32), dtype=module.uint8, device="cuda")
        stream = module.cuda.Stream()
        stream.wait_stream(module.cuda.current_stream())
    else:
        made = {name: module.random.rand(n) for name, n in (("a", 3), ("b", 100_000), ("c", 5_000_000))}
        on_cpu = {name: module.asnumpy(it) for name, it in made.items()}
        out = module.empty((len(made), 32), dtype="u1")
        stream = module.cuda.Stream(non_blocking=True)
    expected = hash_many(on_cpu)
    assert gpu.hash_many(made) == expected
    assert gpu.hash_many(made, stream=stream) == expected
    assert {name: gpu.digest(it) for name, it in made.items()} == expected
    gpu.hash_many_to(made, out, stream=stream)
    stream.synchronize()
    host = out.cpu().numpy() if library == "torch" else module.asnumpy(out)
    assert host.tobytes() == b"".join(expected.values())
