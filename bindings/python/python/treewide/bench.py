"""`python -m treewide.bench`: measure this package against the package `blake3` and `hashlib`, and name the bars."""

import sys as _sys

from treewide._bench import main

__all__ = ["main"]

if __name__ == "__main__":
    _sys.exit(main())
