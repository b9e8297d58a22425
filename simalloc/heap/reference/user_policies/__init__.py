"""What a policy in Python acts on: the heap, its blocks and their lists, in plain Python."""
