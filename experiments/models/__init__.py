"""The models of mallocs compared with the installed libraries."""
