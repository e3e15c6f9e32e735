"""Lists of nodes and tensors, control outputs, and the placeholders that stand for cut edges."""

from braid.tensorflow.python.framework import ops as tf_ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops.op_selector import (  # noqa: F401
    check_graphs,
    concatenate_unique,
    get_consuming_ops,
    get_generating_ops,
    get_tensors,
    get_unique_graph,
    is_iterable,
    make_list_of_op,
    make_list_of_t,
)

__all__ = [
    "make_list_of_op",
    "get_tensors",
    "make_list_of_t",
    "get_generating_ops",
    "get_consuming_ops",
    "ControlOutputs",
    "placeholder_name",
    "make_placeholder_from_tensor",
    "make_placeholder_from_dtype_and_shape",
]

_PREFIX = "geph"  # of the names of placeholders


class ListView:
    """A list that cannot be changed."""

    def __init__(self, list_):
        if not isinstance(list_, list):
            raise TypeError(f"Expected a list, got: {type(list_)}.")
        self._list = list_

    def __iter__(self):
        return iter(self._list)

    def __len__(self):
        return len(self._list)

    def __bool__(self):
        return bool(self._list)

    def __getitem__(self, i):
        return self._list[i]

    def __add__(self, other):
        return self._list + list(other)


def flatten_tree(tree, leaves=None):
    """The leaves of nested lists and dicts."""
    leaves = [] if leaves is None else leaves
    if isinstance(tree, dict):
        tree = tree.values()
    if not is_iterable(tree) or isinstance(tree, str):
        leaves.append(tree)
        return leaves
    for child in tree:
        flatten_tree(child, leaves)
    return leaves


def transform_tree(tree, fn, iterable_type=tuple):
    """The tree with fn(leaf) in place of each leaf. What is no list, tuple or dict becomes an
    `iterable_type`."""
    if not is_iterable(tree) or isinstance(tree, str):
        return fn(tree)
    if isinstance(tree, dict):
        return type(tree)((k, transform_tree(child, fn)) for k, child in tree.items())
    children = [transform_tree(child, fn) for child in tree]
    if hasattr(tree, "_asdict"):
        return type(tree)(*children)
    return (type(tree) if isinstance(tree, (list, tuple)) else iterable_type)(children)


class ControlOutputs:
    """The nodes that wait for each node of a graph."""

    def __init__(self, graph):
        if not isinstance(graph, tf_ops.Graph):
            raise TypeError(f"Expected a tf.Graph, got: {type(graph)}")
        self._graph = graph
        self._control_outputs = {}
        self._build()

    def update(self):
        """Looks at the graph again if it has got nodes."""
        if self._version != self._graph.version:
            self._build()
        return self

    def _build(self):
        self._control_outputs.clear()
        for op in self._graph.get_operations():
            for before in op.control_inputs:
                concatenate_unique(self._control_outputs.setdefault(before, []), [op])
        self._version = self._graph.version

    def get_all(self):
        return self._control_outputs

    def get(self, op):
        return self._control_outputs.get(op, ())

    @property
    def graph(self):
        return self._graph


def scope_finalize(scope):
    """The scope with a '/' at its end."""
    return scope if not scope or scope.endswith("/") else scope + "/"


def scope_dirname(scope):
    """All up to the last '/', with it."""
    return scope[: scope.rfind("/") + 1]


def scope_basename(scope):
    return scope[scope.rfind("/") + 1 :]


def placeholder_name(t=None, scope=None, prefix=_PREFIX):
    """The name of a placeholder: for a tensor `t` geph__NAME_INDEX in its scope, unless `scope` is given."""
    if t is None:
        return scope_finalize(scope or "") + prefix
    if not isinstance(t, tf_ops.Tensor):
        raise TypeError(f"Expected a tf.Tenfor, got: {type(t)}")
    base = scope_basename(t.op.name)
    if not base.startswith(prefix + "__"):
        base = f"{prefix}__{base}_{t.value_index}"
    return (scope_dirname(t.op.name) if scope is None else scope_finalize(scope)) + base


def make_placeholder_from_tensor(t, scope=None, prefix=_PREFIX):
    """A placeholder of the dtype and shape of a tensor."""
    name = placeholder_name(t, scope=scope, prefix=prefix)
    return array_ops.placeholder(dtype=t.dtype, shape=t.get_shape(), name=name)


def make_placeholder_from_dtype_and_shape(dtype, shape=None, scope=None, prefix=_PREFIX):
    name = placeholder_name(scope=scope, prefix=prefix)
    return array_ops.placeholder(dtype=dtype, shape=shape, name=name)


def get_predefined_collection_names():
    """The names that GraphKeys has."""
    keys = tf_ops.GraphKeys
    return [getattr(keys, key) for key in dir(keys) if not key.startswith("__")]


def find_corresponding_elem(target, dst_graph, dst_scope="", src_scope=""):
    """The node or tensor of `dst_graph` that has the target's name, in `dst_scope` in place of `src_scope`."""
    name, src_scope = target.name, scope_finalize(src_scope)
    if not name.startswith(src_scope):
        raise ValueError(f"{name} does not start with {src_scope}")
    name = scope_finalize(dst_scope) + name[len(src_scope) :]
    if isinstance(target, tf_ops.Tensor):
        return dst_graph.get_tensor_by_name(name)
    if isinstance(target, tf_ops.Operation):
        return dst_graph.get_operation_by_name(name)
    raise TypeError(f"Expected tf.Tensor or tf.Operation, got: {type(target)}")


def find_corresponding(targets, dst_graph, dst_scope="", src_scope=""):
    """The same for nested lists of them."""
    return transform_tree(
        targets, lambda target: find_corresponding_elem(target, dst_graph, dst_scope, src_scope)
    )
