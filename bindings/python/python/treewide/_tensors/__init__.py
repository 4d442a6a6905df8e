"""The parts of `treewide.tensors`."""
