"""The parts of tf.contrib.quantize."""
