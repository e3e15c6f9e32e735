"""Scopes whose nodes TensorFlow may compile: nodes have its attributes, and run one by one."""

import contextlib

from braid import protos
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.util.tf_export import tf_export

_XLA_SCOPE_KEY = ("__xla_scope",)


class _XlaScope:
    """The scopes of a graph: `count` outer ones so far, `depth` open ones."""

    def __init__(self):
        self.count = self.depth = 0


def _scope_of_graph():
    scopes = ops.get_collection_ref(_XLA_SCOPE_KEY)
    if not scopes:
        scopes.append(_XlaScope())
    return scopes[0]


def _bool(value):
    return protos.AttrValue(b=bool(value))


@tf_export("xla.experimental.jit_scope")
@contextlib.contextmanager
def experimental_jit_scope(compile_ops=True, separate_compiled_gradients=False):
    """Marks the nodes that are built in the scope for a compiler: the attributes _XlaCompile, _XlaScope and
    _XlaSeparateCompiledGradients.

    compile_ops: a bool, or a function of a NodeDef that returns one.
    """
    scope = _scope_of_graph()
    attrs = {
        "_XlaCompile": (lambda node: _bool(compile_ops(node)))
        if callable(compile_ops)
        else _bool(compile_ops),
        "_XlaSeparateCompiledGradients": _bool(separate_compiled_gradients),
    }
    if scope.depth == 0:
        attrs["_XlaScope"] = protos.AttrValue(s=f"jit_scope_{scope.count}".encode())
        scope.count += 1
    scope.depth += 1
    try:
        with ops.get_default_graph()._attr_scope(attrs):
            yield
    finally:
        scope.depth -= 1
