"""Data of slim: what is in files, decoded in parallel."""
