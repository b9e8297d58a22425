"""Heaps to explore in a notebook: a widget, and its data on a run."""
