"""How far each policy's figure depends on the unit by which the heap grows."""
