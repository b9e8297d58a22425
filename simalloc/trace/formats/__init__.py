"""Allocation logs of other tools: recognised by their content, read, and written."""
