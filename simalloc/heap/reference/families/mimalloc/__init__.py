"""What mimalloc 2 and 3 share."""
