"""Statistics of pipelines."""

from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import gen_experimental_dataset_ops
from braid.tensorflow.python.util.tf_export import tf_export


def _with_tag(op, tag):
    return lambda dataset: dataset_ops._Unchanged(
        dataset, op, tag=ops.convert_to_tensor(tag, dtype=dtypes.string)
    )


def set_stats_aggregator(stats_aggregator, prefix="", counter_prefix=""):
    """The statistics of a dataset go to an aggregator: for Dataset.apply."""
    return lambda dataset: dataset_ops._Unchanged(
        dataset,
        gen_experimental_dataset_ops.set_stats_aggregator_dataset,
        stats_aggregator=stats_aggregator._resource,
        tag=prefix,
        counter_prefix=counter_prefix,
    )


@tf_export("data.experimental.bytes_produced_stats")
def bytes_produced_stats(tag):
    """The bytes of each element go to a histogram: for Dataset.apply."""
    return _with_tag(gen_experimental_dataset_ops.bytes_produced_stats_dataset, tag)


@tf_export("data.experimental.latency_stats")
def latency_stats(tag):
    """The microseconds that each element took go to a histogram: for Dataset.apply."""
    return _with_tag(gen_experimental_dataset_ops.latency_stats_dataset, tag)
