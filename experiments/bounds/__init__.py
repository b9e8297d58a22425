"""The smallest possible heaps, the value of knowing the future, and the worst cases."""
