"""Parts shared by mimalloc 2 and 3."""
