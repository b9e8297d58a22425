"""The parts of jemalloc's model; `jemalloc.py` receives the program's calls."""
