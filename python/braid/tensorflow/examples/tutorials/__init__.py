"""What TensorFlow's tutorials import."""
