"""A plugin of pytest for the tests of the package `blake3`: what imports that gets `treewide.compat`."""

import os

import treewide.compat

treewide.compat.install()
# Their example is a program of its own.
os.environ["PYTHONPATH"] = os.path.join(os.path.dirname(__file__), "as_blake3")
