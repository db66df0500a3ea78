"""What runs inside a worker process; nothing of the parent imports it, and nothing else imports the PDF library."""
