"""The parts of Python's own allocator; `pymalloc.py` receives the program's calls."""
