"""glibc's malloc, part by part; `ptmalloc.py` is what the program calls."""
