"""Functions of the number of an iteration, run for all numbers; Jacobians by them."""

from braid.tensorflow.python.ops.parallel_for.control_flow_ops import for_loop
from braid.tensorflow.python.ops.parallel_for.control_flow_ops import pfor
from braid.tensorflow.python.ops.parallel_for.gradients import batch_jacobian
from braid.tensorflow.python.ops.parallel_for.gradients import jacobian
