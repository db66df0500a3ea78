"""Sessions: one open case, its runs and what can be done with them."""
