"""How far generated traces are from the programs whose sizes and lifetimes they have."""
