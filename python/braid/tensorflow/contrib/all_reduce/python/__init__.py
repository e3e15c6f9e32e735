"""TensorFlow's place for the functions of tf.contrib.all_reduce."""
