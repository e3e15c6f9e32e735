"""Functions of eager execution made from graphs, which Braid refuses."""

from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["wrap_function"])
def wrap_function(fn, signature, name=None):
    raise NotImplementedError("tf.wrap_function is not in Braid: build a graph and run it in a tf.Session")


function_from_graph_def = wrap_function
