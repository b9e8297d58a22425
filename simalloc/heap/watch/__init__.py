"""Observation of a run: the heap after an event, or the effect of each event."""
