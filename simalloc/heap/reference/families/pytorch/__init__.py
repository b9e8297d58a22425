"""PyTorch's caching allocator, part by part; `pytorch.py` is what the program calls."""
