"""Heaps to explore in a notebook: a widget, and what it is told of a run."""
