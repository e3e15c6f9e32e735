"""The global step: the variable that counts the updates of the model."""

from braid.tensorflow.python.framework import dtypes, ops
from braid.tensorflow.python.framework.graph_io import write_graph  # noqa: F401, programs find it here
from braid.tensorflow.python.ops import init_ops, state_ops, variable_scope, variables
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.util.tf_export import tf_export

# The collection of the tensor that reads the global step before the step changes it.
GLOBAL_STEP_READ_KEY = "global_step_read_op_cache"


@tf_export(v1=["train.global_step"])
def global_step(sess, global_step_tensor):
    """Runs the global step's tensor in the session and returns its value as an int."""
    return int(sess.run(global_step_tensor))


@tf_export(v1=["train.get_global_step"])
def get_global_step(graph=None):
    """The global step of the graph: what its collection has, or else a tensor "global_step:0".

    None: the graph has none, or several. TypeError: it is not an integer scalar.
    """
    graph = graph or ops.get_default_graph()
    found = graph.get_collection(ops.GraphKeys.GLOBAL_STEP)
    if len(found) > 1:
        logging.error("Multiple tensors in global_step collection.")
        return None
    if found:
        step = found[0]
    else:
        try:
            step = graph.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
    assert_global_step(step)
    return step


@tf_export(v1=["train.create_global_step"])
def create_global_step(graph=None):
    """Makes the variable "global_step", an int64 scalar that begins with 0. ValueError: the graph has one."""
    graph = graph or ops.get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default() as g, g.name_scope(None):
        return variable_scope.get_variable(
            ops.GraphKeys.GLOBAL_STEP,
            shape=[],
            dtype=dtypes.int64,
            initializer=init_ops.zeros_initializer(),
            trainable=False,
            aggregation=variables.VariableAggregation.ONLY_FIRST_REPLICA,
            collections=[ops.GraphKeys.GLOBAL_VARIABLES, ops.GraphKeys.GLOBAL_STEP],
        )


@tf_export(v1=["train.get_or_create_global_step"])
def get_or_create_global_step(graph=None):
    """The global step of the graph, made where there is none."""
    graph = graph or ops.get_default_graph()
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


@tf_export(v1=["train.assert_global_step"])
def assert_global_step(global_step_tensor):
    """TypeError: the argument is not a variable or tensor of an integer type with one element."""
    if not isinstance(global_step_tensor, (variables.Variable, ops.Tensor)):
        raise TypeError(f'Existing "global_step" must be a Variable or Tensor: {global_step_tensor}.')
    if not global_step_tensor.dtype.base_dtype.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {global_step_tensor.dtype}')
    shape = global_step_tensor.get_shape()
    if shape.ndims != 0 and shape.is_fully_defined():
        raise TypeError(f'Existing "global_step" is not scalar: {shape}')


def _get_global_step_read(graph=None):
    """The tensor that _get_or_create_global_step_read has made, or None. RuntimeError: there are several."""
    graph = graph or ops.get_default_graph()
    found = graph.get_collection(GLOBAL_STEP_READ_KEY)
    if len(found) > 1:
        raise RuntimeError(
            f"There are multiple items in collection {GLOBAL_STEP_READ_KEY}. There should be only one."
        )
    return found[0] if found else None


def _get_or_create_global_step_read(graph=None):
    """A tensor with the global step as it was before this session run added to it; None without a global step."""
    graph = graph or ops.get_default_graph()
    read = _get_global_step_read(graph)
    if read is not None:
        return read
    step = get_global_step(graph)
    if step is None:
        return None
    with graph.as_default() as g, g.name_scope(None), g.name_scope(step.op.name + "/"):
        value = step.initialized_value() if isinstance(step, variables.Variable) else step
        read = value + 0  # a copy, which a later update does not change
        ops.add_to_collection(GLOBAL_STEP_READ_KEY, read)
    return read


def _increment_global_step(increment, graph=None):
    """An op that adds to the global step once it has been read. ValueError: there is no global step."""
    graph = graph or ops.get_default_graph()
    step = get_global_step(graph)
    if step is None:
        raise ValueError(
            "Global step tensor should be created by tf.train.get_or_create_global_step before calling increment."
        )
    read = _get_or_create_global_step_read(graph)
    with graph.as_default() as g, g.name_scope(None), g.name_scope(step.op.name + "/"):
        with ops.control_dependencies([read]):
            return state_ops.assign_add(step, increment)
