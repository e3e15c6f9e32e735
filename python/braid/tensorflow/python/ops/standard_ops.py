"""The modules that a program has after `import tensorflow`."""

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gradients_impl, math_ops
