"""TensorFlow's modules that programs import from inside."""
