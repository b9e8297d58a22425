"""Bohra & Gabber 2001: nine mallocs on a caching file system, Hummingbird, and on GNU Emacs."""
