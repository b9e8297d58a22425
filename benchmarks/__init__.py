"""Measures the speed of simalloc and of real allocators in the same run."""
