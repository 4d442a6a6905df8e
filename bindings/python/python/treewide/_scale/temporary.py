"""Names of temporary files: random, with their own hash, so that no file of a user is taken for ours."""

import re
from secrets import token_hex

from treewide._treewide import digest

_TEMPORARY = re.compile(r"\.treewide-([0-9a-f]{16})([0-9a-f]{16})\.tmp$")


def temporary_name() -> str:
    """Return the end of a new name."""
    number = token_hex(8)
    return f".treewide-{number}{_hash_of(number)}.tmp"


def is_temporary(key: str) -> bool:
    """Whether a key is that of a file which a killed run of this program left behind."""
    found = _TEMPORARY.search(key)
    return found is not None and found[2] == _hash_of(found[1])


def _hash_of(number: str) -> str:
    return digest(number.encode()).hex()[:16]
