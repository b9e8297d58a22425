"""Servers of other projects, run under the advised settings."""
