"""`hash_file_async`: a file hashed while other tasks run."""

import threading
from functools import partial

from treewide._arguments import Bytes, BytesDone, Path
from treewide._treewide import hash_file


class _Stopped(Exception):
    """Ends a call of `hash_file` that no one waits for any more."""


async def hash_file_async(
    path: Path,
    /,
    *,
    key: Bytes | None = None,
    derive_key_context: str | None = None,
    length: int = 32,
    threads: int = 1,
    progress: BytesDone | None = None,
) -> bytes:
    """Do what `hash_file` does, in a thread of the event loop's default executor.

    When the task is cancelled, hashing stops within about 50 ms. `progress` is called in the other thread.
    """
    # Loaded by who has an event loop; it takes four times as long as the rest of the package.
    import asyncio

    stop = threading.Event()

    def watch(done: int) -> None:
        if stop.is_set():
            raise _Stopped
        if progress is not None:
            progress(done)

    work = partial(
        hash_file,
        path,
        key=key,
        derive_key_context=derive_key_context,
        length=length,
        threads=threads,
        progress=watch,
    )
    try:
        return await asyncio.get_running_loop().run_in_executor(None, work)
    finally:
        # Also when the coroutine is closed.
        stop.set()
