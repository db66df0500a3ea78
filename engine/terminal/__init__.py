"""The terminal front end: the same engine without a window."""
