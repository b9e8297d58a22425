"""Distance of generated traces from the programs whose sizes and lifetimes they imitate."""
