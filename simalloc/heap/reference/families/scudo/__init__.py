"""The parts of Scudo's model; `scudo.py` receives the program's calls."""
