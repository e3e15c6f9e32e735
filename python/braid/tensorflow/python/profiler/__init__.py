"""Parameters, operations, time and memory of the nodes of a graph (tf.profiler)."""
