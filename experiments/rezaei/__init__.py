"""Rezaei and others 2016: address-ordered and segregated binary trees."""
