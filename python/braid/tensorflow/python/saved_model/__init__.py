"""Models with their signatures as directories (`tf.saved_model`)."""
