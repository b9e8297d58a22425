"""Layers between the program and a family: waiting blocks, trims, requested alignments."""
