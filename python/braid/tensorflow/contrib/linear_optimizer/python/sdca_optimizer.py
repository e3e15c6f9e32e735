"""SDCAOptimizer: dual coordinate ascent for the estimators of tf.contrib.learn."""

from braid.tensorflow.contrib.linear_optimizer.python.ops.sdca_ops import SdcaModel
from braid.tensorflow.python.estimator.canned import linear


class SDCAOptimizer(linear.LinearSDCA):
    """An optimizer for LinearClassifier and LinearRegressor.

    example_id_column: the feature of the examples' ids. num_loss_partitions: workers that train at the same
    time. num_table_shards: parts of the table of dual variables. adaptive: examples far from their optimum
    are taken more often. partitioner: of the weights.
    """

    _model = SdcaModel

    def __init__(
        self,
        example_id_column,
        num_loss_partitions=1,
        num_table_shards=None,
        symmetric_l1_regularization=0.0,
        symmetric_l2_regularization=1.0,
        adaptive=True,
        partitioner=None,
    ):
        super().__init__(
            example_id_column,
            num_loss_partitions,
            num_table_shards,
            symmetric_l1_regularization,
            symmetric_l2_regularization,
            adaptive,
        )
        self._partitioner = partitioner

    def get_name(self):
        return "SDCAOptimizer"

    @property
    def example_id_column(self):
        return self._example_id_column

    @property
    def num_loss_partitions(self):
        return self._num_loss_partitions

    @property
    def num_table_shards(self):
        return self._num_table_shards

    @property
    def symmetric_l1_regularization(self):
        return self._symmetric_l1_regularization

    @property
    def symmetric_l2_regularization(self):
        return self._symmetric_l2_regularization

    @property
    def adaptive(self):
        return self._adaptive

    @property
    def partitioner(self):
        return self._partitioner
