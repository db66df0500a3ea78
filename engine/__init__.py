"""The engine: from a folder of PDFs to text and evidence, without any window.

What is exported here is all that a window or another front end needs.
"""
