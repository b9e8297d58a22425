"""Programs with a known correct advice: recorded, advised, and run with the advised settings."""
