"""ReduceOp."""

import enum

from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("distribute.ReduceOp")
class ReduceOp(enum.Enum):
    """How values of replicas become one."""

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def from_variable_aggregation(aggregation):
        from braid.tensorflow.python.ops import variables

        return {
            variables.VariableAggregation.SUM: ReduceOp.SUM,
            variables.VariableAggregation.MEAN: ReduceOp.MEAN,
        }[aggregation]
