"""The parts of glibc's malloc; `ptmalloc.py` receives the program's calls."""
