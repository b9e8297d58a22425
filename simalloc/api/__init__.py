"""What `import simalloc` offers: a function or class for each task of a user.

Traces are given by name or path, policies by text, and long work shows its progress.
"""
