"""The sample batch: a folder of documents, good and bad, written on demand."""
