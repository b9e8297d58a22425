"""The functions and classes of `import simalloc`, one for each task of a user.

Traces are given by name or path, and policies as text. Long work shows its progress.
"""
