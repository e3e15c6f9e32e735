"""tf.contrib.data: former names of tf.data.experimental and tf.data; found when they are first used."""

import importlib

_EXPERIMENTAL = "braid.tensorflow.python.data.experimental.ops."
_DATASET_OPS = "braid.tensorflow.python.data.ops.dataset_ops"
_OPTIONAL_OPS = "braid.tensorflow.python.data.ops.optional_ops"
_WHERE = {
    "batching": "batch_and_drop_remainder dense_to_sparse_batch map_and_batch "
    "padded_batch_and_drop_remainder unbatch",
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
    "unique": "unique",
    "writers": "TFRecordWriter",
}
_MODULES = {name: _EXPERIMENTAL + module for module, names in _WHERE.items() for name in names.split()}
_MODULES.update(AUTOTUNE=_DATASET_OPS, Optional=_OPTIONAL_OPS)
_MODULES["get_next_as_optional"] = "braid.tensorflow.python.data.ops.iterator_ops"
_MODULES["assert_element_shape"] = "braid.tensorflow.contrib.data.python.ops.batching"
_MODULES["reduce_dataset"] = "braid.tensorflow.contrib.data.python.ops.get_single_element"


def sliding_window_batch(window_size, stride=None, window_shift=None, window_stride=1):
    """Batches of `window_size` elements, each `window_stride`-th, `window_shift` apart: for Dataset.apply.

    stride: a former name of window_shift.
    """
    from braid.tensorflow.python.data.ops import dataset_ops
    from braid.tensorflow.python.data.util import structure
    from braid.tensorflow.python.ops import gen_experimental_dataset_ops

    if stride is None and window_shift is None:
        window_shift = 1
    elif stride is not None and window_shift is not None:
        raise ValueError("Cannot specify both `stride` and `window_shift`")
    shift = window_shift if stride is None else stride

    def apply(dataset):
        spec = structure.batched(dataset.element_spec, None)
        return dataset_ops._WithSpec(
            dataset,
            gen_experimental_dataset_ops.sliding_window_dataset(
                dataset._variant_tensor, window_size, shift, window_stride, **structure.flat_structure(spec)
            ),
            spec,
        )

    return apply


def read_batch_features(
    file_pattern,
    batch_size,
    features,
    reader=None,
    reader_args=None,
    randomize_input=True,
    num_epochs=None,
    capacity=10000,
):
    """The next batch of the Examples in files: see make_batched_features_dataset."""
    from braid.tensorflow.python.data.experimental.ops import readers
    from braid.tensorflow.python.data.ops import dataset_ops
    from braid.tensorflow.python.data.ops import readers as core_readers

    dataset = readers.make_batched_features_dataset(
        file_pattern,
        batch_size,
        features,
        reader=reader or core_readers.TFRecordDataset,
        reader_args=reader_args,
        shuffle=randomize_input,
        num_epochs=num_epochs,
        shuffle_buffer_size=capacity,
    )
    return dataset_ops.make_one_shot_iterator(dataset).get_next()


def __getattr__(name):
    if name not in _MODULES:
        raise AttributeError(f"tf.contrib.data has no {name}")
    value = globals()[name] = getattr(importlib.import_module(_MODULES[name]), name)
    return value


def __dir__():
    return sorted(_MODULES)
