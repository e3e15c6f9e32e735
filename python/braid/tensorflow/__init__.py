"""TensorFlow 1's interface for Python over Braid. Modules lie where TensorFlow has them."""
