"""What `import simalloc` offers: the package below, in the words of a person at work.

Traces are given by name or path, policies by text, and whatever takes long shows how far it is.
"""
