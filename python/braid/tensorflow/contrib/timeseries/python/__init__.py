"""tf.contrib.timeseries."""
