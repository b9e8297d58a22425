"""musl's mallocng, part by part; `musl.py` is what the program calls."""
