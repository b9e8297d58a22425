"""The speed of simalloc, measured beside real allocators in the same run."""
