"""Functions of eager execution, which Braid refuses."""

from braid.tensorflow.python.eager.def_function import function


def defun(func=None, input_signature=None, autograph=True, experimental_autograph_options=None):
    return function(func, input_signature)


defun_with_attributes = defun
