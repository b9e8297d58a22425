"""Allocation logs of other tools: told by their content, read and written."""
