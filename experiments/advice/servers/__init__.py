"""Servers of others, run with what was advised."""
