"""Programs whose answer is known: recorded, advised, and run with the line that was advised."""
