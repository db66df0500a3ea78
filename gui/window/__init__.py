"""The main window: joins views into pages and actions."""
