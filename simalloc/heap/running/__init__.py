"""Runs of traces under policies: their settings, their runners, and their measurements."""
