"""Figures, drawn with matplotlib (the `plot` extra)."""
