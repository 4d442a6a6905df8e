"""Makes `deadly://` a store in each process of a test of engines."""

import os
import sys
from pathlib import Path


def register():
    """Make it a store."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    import deadly
    from treewide._scale import job

    kept = job._kept
    job._kept = lambda scheme, option: deadly.Deadly() if scheme == "deadly" else kept(scheme, option)


if os.environ.get("TREEWIDE_TEST_DEADLY"):
    register()
