"""Detlefs, Dosser & Zorn 1993: five mallocs on eleven programs; here on the six at hand."""
