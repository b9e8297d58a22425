"""The model of glibc's malloc beside the glibc at hand."""
