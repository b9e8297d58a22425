"""The parts of gperftools' tcmalloc; `tcmalloc.py` receives the program's calls."""
