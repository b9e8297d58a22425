"""The models of mallocs beside the libraries that are installed."""
