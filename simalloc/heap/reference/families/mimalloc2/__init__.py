"""mimalloc 2, part by part; `mimalloc2.py` is what the program calls."""
