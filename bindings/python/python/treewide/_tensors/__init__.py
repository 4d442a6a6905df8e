"""The parts of `treewide.weights`."""
