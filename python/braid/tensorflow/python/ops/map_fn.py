"""A function of each slice of tensors (tf.map_fn)."""

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import tensor_array_ops
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import tf_export


class caching_variables:
    """Within the scope, variables are read once, not in each iteration of a loop."""

    def __enter__(self):
        self._scope = variable_scope.get_variable_scope()
        self._was_none = self._scope.caching_device is None
        if self._was_none:
            self._scope.set_caching_device(lambda op: op.device)

    def __exit__(self, *unused):
        if self._was_none:
            self._scope.set_caching_device(None)
        return False


def slices_of(tensors):
    """Tensors as arrays of their slices along dimension 0.

    Returns the number of slices, statically (or None) and as what sizes an array, and the TensorArrays.
    """
    if tensors[0].shape.ndims == 0:
        what = "elems must be a 1+ dimensional Tensor, not a scalar"
        if len(tensors) > 1:
            what = "elements in elems must be 1+ dimensional Tensors, not scalars"
        raise ValueError(what)
    static = tensor_shape.dimension_value(tensors[0].shape[0])
    count = static or array_ops.shape(tensors[0])[0]
    arrays = [
        tensor_array_ops.TensorArray(dtype=t.dtype, size=count, dynamic_size=False, infer_shape=True)
        for t in tensors
    ]
    return count, [array.unstack(t) for array, t in zip(arrays, tensors)]


def stacked(arrays, inputs):
    """The arrays as tensors, with the number of slices that the inputs have."""
    results = [array.stack() for array in arrays]
    count = tensor_shape.Dimension(tensor_shape.dimension_value(inputs[0].shape[0]))
    for t in inputs[1:]:
        if t.shape.ndims is not None:
            count = count.merge_with(t.shape[0])
    for r in results:
        if r.shape.ndims is not None:
            r.set_shape(tensor_shape.TensorShape(count).concatenate(r.shape[1:]))
    return results


@tf_export(v1=["map_fn"])
def map_fn(
    fn,
    elems,
    dtype=None,
    parallel_iterations=None,
    back_prop=True,
    swap_memory=False,
    infer_shape=True,
    name=None,
):
    """The results of `fn` for each slice of `elems` along dimension 0, stacked.

    Args:
      fn: a function of a slice, in the structure of `elems`.
      elems: a tensor or a structure of tensors with one size of dimension 0.
      dtype: the types of fn's result, in its structure; None: those of `elems`.
      parallel_iterations: how many calls run at a time; 10 if None.
      back_prop, swap_memory: as in `tf.while_loop`.
      infer_shape: whether all results have one shape.
      name: of the nodes, "map" if None.

    Raises TypeError where `fn` is no function or `elems` is sparse, ValueError where structures differ.
    """
    if not callable(fn):
        raise TypeError("fn must be callable.")
    if isinstance(elems, sparse_tensor.SparseTensor):
        raise TypeError(
            "To perform a map over the values of a sparse tensor use either SparseTensor(input.indices, "
            "fn(input.values), input.dense_shape) or SparseTensor(input.indices, map_fn(fn, input.values), "
            "input.dense_shape)"
        )
    parallel_iterations = parallel_iterations or 10
    flat = nest.flatten(elems)
    result_structure = elems if dtype is None else dtype
    with ops.name_scope(name, "map", flat), caching_variables():
        flat = [ops.convert_to_tensor(x, name="elem") for x in flat]
        types = [x.dtype for x in flat] if dtype is None else nest.flatten(dtype)
        count, inputs = slices_of(flat)
        i = constant_op.constant(0)
        outputs = [
            tensor_array_ops.TensorArray(dtype=t, size=count, dynamic_size=False, infer_shape=infer_shape)
            for t in types
        ]

        def body(i, arrays):
            result = fn(nest.pack_sequence_as(elems, [array.read(i) for array in inputs]))
            nest.assert_same_structure(result_structure, result)
            arrays = [array.write(i, x) for array, x in zip(arrays, nest.flatten(result))]
            return i + 1, arrays

        _, outputs = control_flow_ops.while_loop(
            lambda i, _: i < count,
            body,
            (i, outputs),
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=count,
        )
        return nest.pack_sequence_as(result_structure, stacked(outputs, flat))
