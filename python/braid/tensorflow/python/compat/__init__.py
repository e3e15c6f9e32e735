"""Which behaviour of TensorFlow holds."""
