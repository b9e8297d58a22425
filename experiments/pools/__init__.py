"""The models of fixed pools against recordings of the real code."""
