"""Distance of static planners of production compilers and runtimes from the lowest placement."""
