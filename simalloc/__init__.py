"""Replays a program's allocation trace under any placement policy."""
