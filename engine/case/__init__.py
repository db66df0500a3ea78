"""The case file: text, audit chain and counters in one SQLite file, written by one thread."""
