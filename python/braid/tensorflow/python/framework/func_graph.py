"""Graphs of tf.function, which Braid refuses."""


class FuncGraph:
    """Never made: Braid has no tf.function."""

    def __init__(self, name, collections=None, capture_by_value=None):
        func_graph_from_py_func(name, None)


def func_graph_from_py_func(name, python_func, *args, **kwargs):
    raise NotImplementedError(
        "Graphs of tf.function are not in Braid: function.Defun makes functions of a graph"
    )
