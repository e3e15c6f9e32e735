"""tf.py_func of arguments and results in structures."""

from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import script_ops
from braid.tensorflow.python.util import nest

__all__ = ["py_func"]


def py_func(func, args=(), kwargs=None, output_types=None, output_shapes=None, stateful=True, name=None):
    """What func(*args, **kwargs) gives, in the structure of output_types.

    args, kwargs: structures of tensors. output_types, output_shapes: structures, or functions of the
    arguments.
    """
    kwargs = {} if kwargs is None else kwargs
    if not isinstance(args, (list, tuple)):
        raise TypeError(f"args must be list and not {type(args)}. args: {args}")
    if not isinstance(kwargs, dict):
        raise TypeError(f"kwargs must be dict and not {type(kwargs)}. args: {kwargs}")
    if callable(output_types):
        output_types = output_types(*args, **kwargs)
    if callable(output_shapes):
        output_shapes = output_shapes(*args, **kwargs)
    given = (args, kwargs)

    def flat_func(*flat):
        args, kwargs = nest.pack_sequence_as(given, flat)
        result = func(*args, **kwargs)
        nest.assert_shallow_structure(output_types, result)
        return nest.flatten(result)

    values = script_ops.py_func(
        flat_func, nest.flatten(given), nest.flatten(output_types), stateful=stateful, name=name
    )
    if output_shapes is not None:
        shapes = nest.map_structure_up_to(output_types, tensor_shape.as_shape, output_shapes)
        for value, shape in zip(values, nest.flatten(shapes)):
            value.set_shape(shape)
    return nest.pack_sequence_as(output_types, values)
