"""The smallest possible heaps, the value of future knowledge, and the worst cases."""
