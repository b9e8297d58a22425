"""The parts of PyTorch's caching allocator; `pytorch.py` receives the program's calls."""
