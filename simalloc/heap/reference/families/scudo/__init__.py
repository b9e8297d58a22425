"""Scudo, part by part; `scudo.py` is what the program calls."""
