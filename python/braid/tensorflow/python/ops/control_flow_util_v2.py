"""Names that programs import from TensorFlow's second version of control flow, which Braid does not have."""

from braid.tensorflow.python.framework import ops


def in_defun():
    """Whether nodes are made in the body of a function."""
    return ops.get_default_graph().building_function


def in_while_loop_defun(graph):
    """False: loops have no functions as their bodies."""
    del graph
    return False


def output_all_intermediates():
    """False: the engine itself keeps the values that gradients need."""
    return False


def set_output_all_intermediates(state):
    if state:
        raise NotImplementedError(
            "set_output_all_intermediates: Braid's conditionals are Switch and Merge nodes, without functions"
        )
