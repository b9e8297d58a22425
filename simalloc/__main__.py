"""`python -m simalloc`."""

from simalloc.cli import main

main()
