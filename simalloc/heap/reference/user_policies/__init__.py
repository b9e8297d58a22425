"""The heap of a policy in Python, with its blocks and lists, in plain Python."""
