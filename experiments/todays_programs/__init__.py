"""Sixteen policies on programs of today, and where the best of them waste memory after all."""
