"""Helpers that tests share; nothing of the program imports them."""
