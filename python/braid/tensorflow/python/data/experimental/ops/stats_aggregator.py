"""Where the statistics of pipelines go."""

from braid.tensorflow.python.ops import gen_experimental_dataset_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["data.experimental.StatsAggregator"])
class StatsAggregator:
    """Collects the statistics of iterators: set it as `options.experimental_stats.aggregator`."""

    def __init__(self):
        self._resource = gen_experimental_dataset_ops.stats_aggregator_handle()

    def get_summary(self):
        """What was collected, as a serialized Summary: a string scalar."""
        return gen_experimental_dataset_ops.stats_aggregator_summary(self._resource)


StatsAggregatorV1 = StatsAggregator
