"""Python's own allocator, part by part; `pymalloc.py` is what the program calls."""
