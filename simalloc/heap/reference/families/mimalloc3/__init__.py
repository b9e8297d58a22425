"""The parts of mimalloc 3's model; `mimalloc3.py` receives the program's calls."""
