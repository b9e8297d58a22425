"""Distance of static planners in production compilers and runtimes from the lowest placement."""
