"""glibc's heaps in a process."""
