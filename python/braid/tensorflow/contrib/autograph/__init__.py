"""tf.contrib.autograph: the older name of tf.autograph, with its functions for lists."""

from braid.tensorflow.python.autograph import (  # noqa: F401
    AutoGraphError,
    ConversionOptions,
    Feature,
    convert,
    converted_call,
    do_not_convert,
    set_element_type,
    set_loop_options,
    set_verbosity,
    stack,
    tensor_list,
    to_code,
    to_graph,
    trace,
)
