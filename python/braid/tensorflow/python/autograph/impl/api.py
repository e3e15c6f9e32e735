"""AutoGraph converts no function in Braid, so that one which is not to be converted stays as it is."""

from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("autograph.experimental.do_not_convert")
def do_not_convert(func=None):
    """The function itself; without one a decorator."""
    return do_not_convert if func is None else func
