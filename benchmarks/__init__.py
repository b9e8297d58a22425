"""How fast simalloc is, measured beside real allocators in the same run."""
