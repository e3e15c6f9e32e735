"""Optimizers, savers, sessions that are watched, hooks and servers: what `tf.train` has."""
