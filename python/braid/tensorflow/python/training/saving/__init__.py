"""What a saver saves of an object, and how it gives it back."""
