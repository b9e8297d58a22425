"""Widget that explores heaps in a notebook, and its data on a run."""
