"""The functions of tf.contrib.bayesflow."""
