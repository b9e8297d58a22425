"""Sixteen policies on today's programs, and the cases in which the best policies waste memory."""
