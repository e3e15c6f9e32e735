"""tf.contrib.recurrent."""
