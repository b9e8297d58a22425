"""gperftools' tcmalloc, part by part; `tcmalloc.py` is what the program calls."""
