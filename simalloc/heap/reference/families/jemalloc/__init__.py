"""jemalloc, part by part; `jemalloc.py` is what the program calls."""
