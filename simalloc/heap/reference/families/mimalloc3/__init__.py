"""mimalloc 3, part by part; `mimalloc3.py` is what the program calls."""
