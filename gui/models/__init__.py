"""Qt models: they know records, and neither windows nor databases."""
