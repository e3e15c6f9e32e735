"""tf.estimator; tensorflow_estimator.python.estimator of TensorFlow 1.15."""
