"""tf.function, which Braid refuses: it runs graphs."""

from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("function")
def function(
    func=None,
    input_signature=None,
    autograph=True,
    experimental_autograph_options=None,
    experimental_relax_shapes=False,
    experimental_compile=None,
):
    raise NotImplementedError(
        "tf.function is not in Braid: build a graph and run it in a tf.Session (function.Defun makes functions of "
        "a graph)"
    )
