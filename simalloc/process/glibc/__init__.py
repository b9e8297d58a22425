"""The heaps of glibc in a process."""
