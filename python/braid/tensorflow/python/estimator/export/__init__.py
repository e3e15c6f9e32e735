"""What is exported for serving."""
