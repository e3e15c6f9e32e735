"""What Keras asks of tensors and structures of them."""

import collections.abc

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import smart_cond as smart_module
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.util import nest

_symbolic_types = [ops.Tensor, variables.Variable, sparse_tensor.SparseTensor]


def smart_cond(pred, true_fn=None, false_fn=None, name=None):
    """tf.cond, or one function alone where `pred` is known."""
    if isinstance(pred, variables.Variable):
        from braid.tensorflow.python.ops import control_flow_ops

        return control_flow_ops.cond(pred, true_fn=true_fn, false_fn=false_fn, name=name)
    return smart_module.smart_cond(pred, true_fn=true_fn, false_fn=false_fn, name=name)


def constant_value(pred):
    """Whether `pred` is true, None if it is not known."""
    if isinstance(pred, int):
        return pred == 1 if pred in (0, 1) else None
    if isinstance(pred, variables.Variable):
        return None
    return smart_module.smart_constant_value(pred)


def is_tensor_or_tensor_list(v):
    v = nest.flatten(v)
    return bool(v) and isinstance(v[0], ops.Tensor)


def get_reachable_from_inputs(inputs, targets=None):
    """The set of tensors, variables and ops that can be reached from `inputs`, up to `targets`."""
    found, todo = set(inputs), list(inputs)
    targets = set(targets or ())
    while todo:
        x = todo.pop()
        if isinstance(x, ops.Operation):
            following = list(x.outputs) + list(x._control_outputs)
        elif isinstance(x, variables.Variable):
            following = [x.op]
        elif tensor_util.is_tensor(x):
            following = x.consumers()
        else:
            raise TypeError(f"Expected Operation, Variable, or Tensor, got {x}")
        for y in following:
            if y not in found:
                found.add(y)
                if y not in targets:
                    todo.append(y)
    return found


def map_structure_with_atomic(is_atomic_fn, map_fn, nested):
    """The structure with map_fn of what is_atomic_fn says is one value."""
    if is_atomic_fn(nested):
        return map_fn(nested)
    if not nest.is_sequence(nested):
        raise ValueError(f"Received non-atomic and non-sequence element: {nested}")
    if isinstance(nested, collections.abc.Mapping):
        return type(nested)(
            (k, map_structure_with_atomic(is_atomic_fn, map_fn, v)) for k, v in nested.items()
        )
    values = [map_structure_with_atomic(is_atomic_fn, map_fn, v) for v in nested]
    return type(nested)(*values) if hasattr(nested, "_fields") else type(nested)(values)


def convert_shapes(input_shape, to_tuples=True):
    """Shapes in a structure as tuples, or as TensorShapes."""

    def is_shape(value):
        if value is None or isinstance(value, tensor_shape.TensorShape):
            return True
        return isinstance(value, (tuple, list)) and all(
            v is None or isinstance(v, (int, tensor_shape.Dimension)) for v in value
        )

    def convert(shape):
        shape = tensor_shape.TensorShape(shape)
        return tuple(shape.as_list()) if to_tuples and shape.ndims is not None else shape

    return map_structure_with_atomic(is_shape, convert, input_shape)


class ListWrapper:
    """A list that nest takes as one value."""

    def __init__(self, list_to_wrap):
        self._list = list_to_wrap

    def as_list(self):
        return self._list


def convert_inner_node_data(nested, wrap=False):
    """Lists that say a tensor of a layer, [name, node, tensor, ...], as ListWrappers in a structure, or back."""

    def is_atomic(value):
        if isinstance(value, ListWrapper):
            return True
        return not nest.is_sequence(value) or (
            isinstance(value, list) and bool(value) and isinstance(value[0], str)
        )

    def convert(value):
        if wrap:
            return value if isinstance(value, ListWrapper) else ListWrapper(value)
        return value.as_list() if isinstance(value, ListWrapper) else value

    return map_structure_with_atomic(is_atomic, convert, nested)


def is_symbolic_tensor(tensor):
    """Whether it is a tensor of a graph, a variable, or of a type that register_symbolic_tensor_type has got."""
    return isinstance(tensor, tuple(_symbolic_types)) or hasattr(tensor, "_dense_var_to_tensor")


def register_symbolic_tensor_type(cls):
    """Has objects of a class taken as tensors; tf.convert_to_tensor must convert them."""
    if cls not in _symbolic_types:
        _symbolic_types.append(cls)


def are_all_symbolic_tensors(tensors):
    return all(is_symbolic_tensor(t) for t in tensors)


def assert_no_legacy_layers(layers):
    """TypeError for layers of tf.layers, whose weights are in variable scopes."""
    legacy = [layer for layer in layers if getattr(layer, "_is_legacy_layer", False)]
    if legacy:
        raise TypeError(
            f"The following are legacy tf.layers.Layers:\n{legacy}\nTo use keras as a framework (for instance "
            "using the Network, Model, or Sequential classes), please use the tf.keras.layers implementation "
            "instead. (Or, if writing custom layers, subclass from tf.keras.layers rather than tf.layers)"
        )
