"""Pictures, drawn with matplotlib (the `plot` extra)."""
