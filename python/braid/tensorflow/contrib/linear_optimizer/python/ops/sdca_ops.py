"""The model of dual coordinate ascent as tf.contrib.linear_optimizer has it."""

from braid.tensorflow.contrib.linear_optimizer.python.ops.sharded_mutable_dense_hashtable import (
    ShardedMutableDenseHashTable,
)
from braid.tensorflow.python.estimator.canned.linear_optimizer.python.utils import sdca_ops as core
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_sdca_ops
from braid.tensorflow.python.ops import resource_variable_ops
from braid.tensorflow.python.ops import variables as var_ops


class SdcaModel(core._SDCAModel):
    """A linear model and the operations that train it: see _SDCAModel for examples, variables and options.

    It differs from the estimators' model in the names of slots and in that L2 regularization is 1 at least.
    """

    _slot_suffix = "_unshrinked/SDCAOptimizer"
    _slot_prefix = "unshrinked_"
    _make_table = ShardedMutableDenseHashTable

    @staticmethod
    def _check_regularization(options):
        for name in ("symmetric_l1_regularization", "symmetric_l2_regularization"):
            if options[name] < 0.0:
                raise ValueError(f"{name} should be non-negative. Found ({options[name]:f})")

    def _symmetric_l2_regularization(self):
        return max(self._options["symmetric_l2_regularization"], 1.0)

    def _new_slot(self, var):
        return var_ops.VariableV1(
            initial_value=array_ops.zeros_like(var.initialized_value(), dtypes.float32),
            name=var.op.name + self._slot_suffix,
        )

    def _shrink(self, var):
        if isinstance(var, resource_variable_ops.BaseResourceVariable):
            return super()._shrink(var)  # the op changes references
        return gen_sdca_ops.sdca_shrink_l1(
            self._to_tensors([var], as_ref=True),
            l1=self._symmetric_l1_regularization(),
            l2=self._symmetric_l2_regularization(),
        )
