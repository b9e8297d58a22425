"""The parts of mimalloc 2's model; `mimalloc2.py` receives the program's calls."""
