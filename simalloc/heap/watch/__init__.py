"""Looking into a run: the heap after an event, or what each event does."""
