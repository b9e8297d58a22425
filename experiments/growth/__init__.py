"""The dependence of each policy's figure on the unit by which the heap grows."""
