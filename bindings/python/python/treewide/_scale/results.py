"""Tasks and results as bytes: JSON with a check, which any engine carries and any folder keeps.

A result names its job and the run, the host, and the time. So nothing is taken from another.
"""

import base64
import json
import os
import socket
from typing import Any

from treewide._treewide import digest

_CHECK = 32


class Damaged(ValueError):
    """A result that is cut off, changed or of another run, or no result."""


def seal(fields: dict[str, Any]) -> bytes:
    """Return bytes that `unseal` reads: named tuples become lists, and bytes become text for `bytes_of`."""
    text = json.dumps(fields, separators=(",", ":"), default=lambda data: base64.b64encode(data).decode()).encode()
    return digest(text).hex()[:_CHECK].encode() + text


def unseal(data: bytes) -> dict[str, Any]:
    """Return what was sealed. Raises `Damaged`."""
    text = data[_CHECK:]
    if digest(text).hex()[:_CHECK].encode() != data[:_CHECK]:
        raise Damaged("this is not a task or result of treewide scale, or it is damaged")
    fields: dict[str, Any] = json.loads(text)
    return fields


def bytes_of(text: str | None) -> bytes:
    """Return bytes that were sealed; no bytes where there were none."""
    return base64.b64decode(text or "")


def host() -> str:
    """Return the name of this machine and process."""
    return f"{socket.gethostname()}:{os.getpid()}"
