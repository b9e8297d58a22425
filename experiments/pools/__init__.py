"""The models of fixed pools compared with recordings of the real code."""
