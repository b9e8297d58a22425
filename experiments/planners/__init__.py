"""How far static planners of production compilers and runtimes are from the lowest placement."""
