"""The heap of a policy in Python, its blocks and their lists, in plain Python."""
