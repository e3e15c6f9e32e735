"""tf.contrib.session_bundle: models for TensorFlow Serving, as they were before SavedModel."""
