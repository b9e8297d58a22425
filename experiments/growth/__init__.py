"""The dependence of each policy's waste on the unit by which the heap grows."""
