"""How small heaps could be, how much knowing the future helps, and how bad it can get."""
