"""The interface of the package `blake3`, under the same names.

`from treewide.compat import blake3` replaces `from blake3 import blake3`. For a program that you cannot change,
`install()` makes its `import blake3` find this module.
"""

import sys as _sys

from treewide._treewide import __version__, blake3

__all__ = ["__version__", "blake3", "install"]


def install() -> None:
    """Make `import blake3` resolve to this module, in this process and from now on.

    Raises `ImportError` if the package `blake3` was imported before: what has it already would keep it.
    """
    found = _sys.modules.get("blake3")
    if found is not None and found is not _sys.modules[__name__]:
        raise ImportError(
            f"blake3 was imported before, from {getattr(found, '__file__', None)}: "
            "call treewide.compat.install() before anything imports it"
        )
    _sys.modules["blake3"] = _sys.modules[__name__]
