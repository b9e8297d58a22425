"""Detlefs, Dosser & Zorn 1993: five mallocs on eleven programs; six programs are available here."""
