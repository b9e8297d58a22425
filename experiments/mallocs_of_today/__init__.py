"""Today's mallocs on today's programs: the memory that each keeps resident, and the causes."""
