"""tf.data.experimental: names are found when they are first used."""

import importlib

_OPS = "braid.tensorflow.python.data.experimental.ops."
_WHERE = {
    "batching": "dense_to_sparse_batch map_and_batch map_and_batch_with_legacy_function unbatch",
    "cardinality": "cardinality",
    "counter": "Counter",
    "enumerate_ops": "enumerate_dataset",
    "error_ops": "ignore_errors",
    "get_single_element": "get_single_element",
    "grouping": "bucket_by_sequence_length group_by_reducer group_by_window Reducer",
    "interleave_ops": "choose_from_datasets parallel_interleave sample_from_datasets",
    "iterator_ops": "CheckpointInputPipelineHook make_saveable_from_iterator",
    "parsing_ops": "parse_example_dataset",
    "prefetching_ops": "copy_to_device prefetch_to_device",
    "random_ops": "RandomDataset",
    "readers": "CsvDataset make_batched_features_dataset make_csv_dataset SqlDataset",
    "resampling": "rejection_resample",
    "scan_ops": "scan",
    "shuffle_ops": "shuffle_and_repeat",
    "stats_aggregator": "StatsAggregator",
    "stats_ops": "bytes_produced_stats latency_stats",
    "take_while_ops": "take_while",
    "unique": "unique",
    "writers": "TFRecordWriter",
}
_MODULES = {name: _OPS + module for module, names in _WHERE.items() for name in names.split()}
_DATASET_OPS = "braid.tensorflow.python.data.ops.dataset_ops"
for (
    _name
) in "AUTOTUNE get_structure OptimizationOptions ThreadingOptions StatsOptions DistributeOptions".split():
    _MODULES[_name] = _DATASET_OPS
_MODULES["Optional"] = "braid.tensorflow.python.data.ops.optional_ops"
_MODULES["get_next_as_optional"] = "braid.tensorflow.python.data.ops.iterator_ops"


def __getattr__(name):
    if name not in _MODULES:
        raise AttributeError(f"tf.data.experimental has no {name}")
    value = globals()[name] = getattr(importlib.import_module(_MODULES[name]), name)
    return value


def __dir__():
    return sorted(_MODULES)
