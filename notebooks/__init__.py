"""The notebooks and the command that executes them: `python -m notebooks`."""
