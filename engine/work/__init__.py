"""Worker processes: everything that touches the bytes of a document happens in one."""
