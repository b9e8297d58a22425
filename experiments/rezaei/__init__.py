"""Rezaei & Kavi 2016: address-ordered and segregated binary trees."""
