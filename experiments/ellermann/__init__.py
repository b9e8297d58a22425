"""Ellermann 2014: first, next and best fit, binning and caching."""
