"""Views: charts, tables, panels and dialogs, each over records and models."""
