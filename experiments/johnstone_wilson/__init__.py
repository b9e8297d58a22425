"""Replication of Johnstone & Wilson 1998, "The Memory Fragmentation Problem: Solved?"."""
