"""Records and word lists that every layer shares: frozen, slotted, without behaviour that reaches elsewhere."""
