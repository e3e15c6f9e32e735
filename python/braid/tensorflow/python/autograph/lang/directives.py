"""Calls that tell the conversion something and do nothing when they run."""

import inspect

from braid.tensorflow.python.util.tf_export import tf_export

UNSPECIFIED = object()


def set_element_type(entity, dtype, shape=UNSPECIFIED):
    """The type and shape of the elements of a list (Feature.LISTS); `entity` is the name of the list."""
    del entity, dtype, shape


@tf_export("autograph.experimental.set_loop_options")
def set_loop_options(
    parallel_iterations=UNSPECIFIED,
    back_prop=UNSPECIFIED,
    swap_memory=UNSPECIFIED,
    maximum_iterations=UNSPECIFIED,
):
    """Arguments of tf.while_loop for the loop that this is in: a statement of the loop's body."""
    del parallel_iterations, back_prop, swap_memory, maximum_iterations


def loop_options(*args, **kwargs):
    """The arguments of tf.while_loop of a call set_loop_options(*args, **kwargs)."""
    return inspect.signature(set_loop_options).bind(*args, **kwargs).arguments
