"""The parts of musl's mallocng; `musl.py` receives the program's calls."""
