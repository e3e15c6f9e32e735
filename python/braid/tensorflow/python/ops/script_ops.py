"""Nodes that call Python functions (tf.py_func, tf.numpy_function).

The engine calls a function by a token, in the process that registered it. What is registered refers to the
function weakly; the graph keeps it, so both can be freed.
"""

import itertools
import numpy as np
import threading
import weakref

from braid import _native
from braid.tensorflow.python.framework import arrays
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import op_def_library
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.util.tf_export import tf_export


class _Function:
    """A Python function with the types of its results."""

    def __init__(self, func, types):
        self.func, self.types = func, types

    def __call__(self, tensors):
        """Takes and returns tensors of the engine."""
        result = self.func(*[arrays.to_numpy(t) for t in tensors])
        if result is None:
            result = []
        elif not isinstance(result, (list, tuple)):
            result = [result]
        return [self._tensor(i, value) for i, value in enumerate(result)]

    def _tensor(self, i, value):
        array = FuncRegistry._convert(value)
        if i >= len(self.types):  # the engine says that there are too many
            return arrays.to_native(array, dtypes.as_dtype(array.dtype).as_datatype_enum)
        wanted = self.types[i]
        found = dtypes.as_dtype(array.dtype)
        if found != wanted:
            raise TypeError(
                f"{i}-th value returned by a Python function is {found.name}, but expects {wanted.name}"
            )
        return arrays.to_native(array, wanted.as_datatype_enum)


class FuncRegistry:
    """The functions that nodes call, by token."""

    def __init__(self):
        self._lock = threading.Lock()
        self._ids = itertools.count()
        self._functions = weakref.WeakValueDictionary()

    def insert(self, function):
        """Registers a _Function, which its owner keeps; returns its token."""
        with self._lock:
            token = "pyfunc_%d" % next(self._ids)
        self._functions[token] = function
        functions = self._functions

        def call(tensors):
            found = functions.get(token)
            if found is None:
                raise ValueError(f"callback {token} is not found")
            return found(tensors)

        _native.register_py_func(token, call)
        weakref.finalize(function, _native.unregister_py_func, token)
        return token

    def size(self):
        return len(self._functions)

    @staticmethod
    def _convert(value, dtype=None):
        """What a function returned as an array; text becomes an array of objects."""
        array = np.asarray(value, dtype=dtype, order="C")
        if array.dtype.kind in "SU":
            array = array.astype(object)
        return array


_py_funcs = FuncRegistry()


def _kept_by_graph(function):
    """Has the default graph, and those around it, keep a function."""
    graph = ops.get_default_graph()
    while graph is not None:
        graph.__dict__.setdefault("_py_funcs_used_in_graph", []).append(function)
        graph = graph.outer_graph


def _make(func, inp, Tout, stateful, name):
    if not callable(func):
        raise ValueError(f"Expected func to be callable, got func of type {type(func)}")
    is_list = isinstance(Tout, (list, tuple))
    types = [dtypes.as_dtype(t) for t in (Tout if is_list else [Tout])]
    function = _Function(func, types)
    token = _py_funcs.insert(function)
    _kept_by_graph(function)
    op = op_def_library._apply_op_helper(
        "PyFunc" if stateful else "PyFuncStateless", name=name, input=list(inp), token=token, Tout=types
    )[3]
    if not types and stateful:
        return op
    return list(op.outputs) if is_list else op.outputs[0]


@tf_export(v1=["py_func"])
def py_func(func, inp, Tout, stateful=True, name=None):
    """The results of a Python function, which each step calls in the process of the program.

    Args:
      func: a function of arrays; of scalars it gets numpy's scalars, of a string bytes.
      inp: a list of tensors, its arguments.
      Tout: the types of its results: a list, or one.
      stateful: whether calls with equal arguments may differ; if not, the engine may call it less often.
      name: of the node, "PyFunc" if None.

    A step fails where the function raises: with InvalidArgumentError for ValueError and TypeError,
    OutOfRangeError
    for StopIteration, else UnknownError. Static shapes of the results are not known.
    """
    return _make(func, inp, Tout, stateful, name)


py_func_common = py_func


@tf_export("numpy_function")
def numpy_function(func, inp, Tout, name=None):
    """`py_func` of a function that may have effects."""
    return _make(func, inp, Tout, True, name)


@tf_export("py_function", v1=["py_function"])
def eager_py_func(func, inp, Tout, name=None):
    """Refused: it calls the function with eager tensors, which Braid does not have."""
    raise NotImplementedError(
        "tf.py_function: Braid has no eager tensors; use tf.py_func, whose function gets arrays of numpy"
    )
