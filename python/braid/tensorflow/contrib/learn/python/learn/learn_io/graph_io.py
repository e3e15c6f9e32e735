"""Batches of Examples in files, through queues that threads fill (tf.train.start_queue_runners)."""

from braid.tensorflow.contrib.input_pipeline.python.ops import input_pipeline_ops
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import errors
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.layers import utils
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import data_flow_ops
from braid.tensorflow.python.ops import io_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import parsing_ops
from braid.tensorflow.python.platform import gfile
from braid.tensorflow.python.summary import summary
from braid.tensorflow.python.training import input as input_ops
from braid.tensorflow.python.training import queue_runner

KEY_FEATURE_NAME = "__key__"


def read_batch_examples(
    file_pattern,
    batch_size,
    reader,
    randomize_input=True,
    num_epochs=None,
    queue_capacity=10000,
    num_threads=1,
    read_batch_size=1,
    parse_fn=None,
    name=None,
    seed=None,
):
    """read_keyed_batch_examples without the keys."""
    return read_keyed_batch_examples(
        file_pattern,
        batch_size,
        reader,
        randomize_input=randomize_input,
        num_epochs=num_epochs,
        queue_capacity=queue_capacity,
        num_threads=num_threads,
        read_batch_size=read_batch_size,
        parse_fn=parse_fn,
        name=name,
        seed=seed,
    )[1]


def read_keyed_batch_examples(
    file_pattern,
    batch_size,
    reader,
    randomize_input=True,
    num_epochs=None,
    queue_capacity=10000,
    num_threads=1,
    read_batch_size=1,
    parse_fn=None,
    name=None,
    seed=None,
):
    """(keys, records) of the next batch of files.

    file_pattern: a pattern or a list of them. reader: makes a reader, such as tf.TFRecordReader.
    randomize_input: files and records come in random order. num_epochs: how often the files are read, for
    ever if None; then the last batch is full. num_threads: readers. read_batch_size: records that a reader
    takes at once. parse_fn: what the records become before they are in a queue; a dict or a tensor.
    """
    return _read_keyed_batch_examples_helper(
        file_pattern,
        batch_size,
        reader,
        randomize_input=randomize_input,
        num_epochs=num_epochs,
        queue_capacity=queue_capacity,
        num_threads=num_threads,
        read_batch_size=read_batch_size,
        parse_fn=parse_fn,
        name=name,
        seed=seed,
    )


def read_keyed_batch_examples_shared_queue(
    file_pattern,
    batch_size,
    reader,
    randomize_input=True,
    num_epochs=None,
    queue_capacity=10000,
    num_threads=1,
    read_batch_size=1,
    parse_fn=None,
    name=None,
    seed=None,
):
    """read_keyed_batch_examples of workers that share the files: each file is read by one of them.

    The names of the files and the count of those taken are variables, so that they are on a parameter server.
    """
    return _read_keyed_batch_examples_helper(
        file_pattern,
        batch_size,
        reader,
        randomize_input=randomize_input,
        num_epochs=num_epochs,
        queue_capacity=queue_capacity,
        num_threads=num_threads,
        read_batch_size=read_batch_size,
        parse_fn=parse_fn,
        setup_shared_queue=True,
        name=name,
        seed=seed,
    )


def _read_keyed_batch_examples_helper(
    file_pattern,
    batch_size,
    reader,
    randomize_input=True,
    num_epochs=None,
    queue_capacity=10000,
    num_threads=1,
    read_batch_size=1,
    filter_fn=None,
    parse_fn=None,
    setup_shared_queue=False,
    name=None,
    seed=None,
):
    """filter_fn: which of (keys, records) are taken, a vector of booleans."""
    file_names = _get_file_names(file_pattern, randomize_input)
    if not queue_capacity or queue_capacity <= 0:
        raise ValueError(f"Invalid queue_capacity {queue_capacity}.")
    known_size = not isinstance(batch_size, ops.Tensor)
    if batch_size is None or (known_size and not 0 < batch_size < queue_capacity):
        raise ValueError(f"Invalid batch_size {batch_size}, with queue_capacity {queue_capacity}.")
    if read_batch_size is None or (not isinstance(read_batch_size, ops.Tensor) and read_batch_size <= 0):
        raise ValueError(f"Invalid read_batch_size {read_batch_size}.")
    if not num_threads or num_threads <= 0:
        raise ValueError(f"Invalid num_threads {num_threads}.")
    if num_epochs is not None and num_epochs <= 0:
        raise ValueError(f"Invalid num_epochs {num_epochs}.")
    with ops.name_scope(name, "read_batch_examples", [file_pattern]) as scope:
        with ops.name_scope("file_name_queue") as file_name_queue_scope:
            if setup_shared_queue:
                file_name_queue = data_flow_ops.FIFOQueue(capacity=1, dtypes=[dtypes.string], shapes=[[]])
                next_name = input_pipeline_ops.seek_next(
                    file_names, shuffle=randomize_input, num_epochs=num_epochs, seed=seed
                )
                enqueue = file_name_queue.enqueue(next_name)
                queue_runner.add_queue_runner(queue_runner.QueueRunner(file_name_queue, [enqueue]))
            else:
                file_name_queue = input_ops.string_input_producer(
                    constant_op.constant(file_names, name="input"),
                    shuffle=randomize_input,
                    num_epochs=num_epochs,
                    name=file_name_queue_scope,
                    seed=seed,
                )
        with ops.name_scope("read"):
            parts = [
                _read(file_name_queue, reader, read_batch_size, filter_fn, parse_fn)
                for _ in range(num_threads)
            ]
        options = dict(
            capacity=queue_capacity,
            enqueue_many=read_batch_size > 1,
            name=scope,
            allow_smaller_final_batch=num_epochs is not None,
        )
        if randomize_input:
            options["seed"] = seed
            if known_size:
                options["min_after_dequeue"] = max(queue_capacity - 3 * batch_size, batch_size)
            else:
                options["min_after_dequeue"] = int(queue_capacity * 0.4)
            batch = input_ops.shuffle_batch_join(parts, batch_size, **options)
        else:
            batch = input_ops.batch_join(parts, batch_size, **options)
        return (batch.pop(KEY_FEATURE_NAME), batch) if isinstance(batch, dict) else batch


def _get_file_names(file_pattern, randomize_input):
    if isinstance(file_pattern, list):
        if not file_pattern:
            raise ValueError("No files given to dequeue_examples.")
        found = [name for entry in file_pattern for name in gfile.Glob(entry)]
    else:
        found = list(gfile.Glob(file_pattern))
    if not found:
        raise ValueError(f"No files match {file_pattern}.")
    return found if randomize_input else sorted(found)


def _read(file_name_queue, reader, read_batch_size, filter_fn, parse_fn):
    """What one reader gives: (key, record), or a dict with both."""
    key, record = utils.smart_cond(
        read_batch_size > 1,
        lambda: reader().read_up_to(file_name_queue, read_batch_size),
        lambda: reader().read(file_name_queue),
    )
    if filter_fn:
        taken = filter_fn(key, record)
        key, record = array_ops.boolean_mask(key, taken), array_ops.boolean_mask(record, taken)
    parsed = parse_fn(record) if parse_fn else record
    return {**parsed, KEY_FEATURE_NAME: key} if isinstance(parsed, dict) else (key, parsed)


def read_keyed_batch_features(
    file_pattern,
    batch_size,
    features,
    reader,
    randomize_input=True,
    num_epochs=None,
    queue_capacity=10000,
    reader_num_threads=1,
    feature_queue_capacity=100,
    num_enqueue_threads=2,
    parse_fn=None,
    name=None,
    read_batch_size=None,
):
    """(keys, features) of the next batch of Examples in files.

    features: what tf.parse_example takes. parse_fn: what the records become before. num_enqueue_threads:
    threads that parse. read_batch_size: batch_size if None. Otherwise as read_keyed_batch_examples.
    """
    with ops.name_scope(name, "read_batch_features", [file_pattern]) as scope:
        keys, examples = read_keyed_batch_examples(
            file_pattern,
            batch_size,
            reader,
            randomize_input=randomize_input,
            num_epochs=num_epochs,
            queue_capacity=queue_capacity,
            num_threads=reader_num_threads,
            read_batch_size=batch_size if read_batch_size is None else read_batch_size,
            parse_fn=parse_fn,
            name=scope,
        )
        return queue_parsed_features(
            parsing_ops.parse_example(examples, features),
            keys=keys,
            feature_queue_capacity=feature_queue_capacity,
            num_enqueue_threads=num_enqueue_threads,
            name=scope,
        )


def read_keyed_batch_features_shared_queue(
    file_pattern,
    batch_size,
    features,
    reader,
    randomize_input=True,
    num_epochs=None,
    queue_capacity=10000,
    reader_num_threads=1,
    feature_queue_capacity=100,
    num_queue_runners=2,
    parse_fn=None,
    name=None,
):
    """read_keyed_batch_features of workers that share the files; num_queue_runners: threads that parse."""
    with ops.name_scope(name, "read_batch_features", [file_pattern]) as scope:
        keys, examples = read_keyed_batch_examples_shared_queue(
            file_pattern,
            batch_size,
            reader,
            randomize_input=randomize_input,
            num_epochs=num_epochs,
            queue_capacity=queue_capacity,
            num_threads=reader_num_threads,
            read_batch_size=batch_size,
            parse_fn=parse_fn,
            name=scope,
        )
        return queue_parsed_features(
            parsing_ops.parse_example(examples, features),
            keys=keys,
            feature_queue_capacity=feature_queue_capacity,
            num_enqueue_threads=num_queue_runners,
            name=scope,
        )


def queue_parsed_features(
    parsed_features, keys=None, feature_queue_capacity=100, num_enqueue_threads=2, name=None
):
    """(keys, features) as they are, through a queue that threads fill."""
    names = sorted(parsed_features)
    values = [parsed_features[n] for n in names]
    with ops.name_scope(name, "queue_parsed_features", values + ([] if keys is None else [keys])):
        put = []
        for value in values:
            sparse = isinstance(value, sparse_tensor.SparseTensor)
            put.extend([value.indices, value.values, value.dense_shape] if sparse else [value])
        if keys is not None:
            put.append(keys)
        queue = data_flow_ops.FIFOQueue(feature_queue_capacity, [t.dtype for t in put])
        summary.scalar(
            f"queue/parsed_features/{queue.name}/fraction_of_{feature_queue_capacity}_full",
            math_ops.cast(queue.size(), dtypes.float32) * (1.0 / feature_queue_capacity),
        )
        # One runner for all threads: the queue is closed when the last of them has put its batch.
        queue_runner.add_queue_runner(
            queue_runner.QueueRunner(
                queue,
                [queue.enqueue(put) for _ in range(num_enqueue_threads)],
                queue_closed_exception_types=(errors.OutOfRangeError, errors.CancelledError),
            )
        )
        taken = queue.dequeue()
        taken = taken if isinstance(taken, list) else [taken]
        for before, after in zip(put, taken):
            after.set_shape(before.shape)
        rest = iter(taken)
        result = {
            n: (
                sparse_tensor.SparseTensor(next(rest), next(rest), next(rest))
                if isinstance(value, sparse_tensor.SparseTensor)
                else next(rest)
            )
            for n, value in zip(names, values)
        }
        return None if keys is None else next(rest), result


def read_batch_features(
    file_pattern,
    batch_size,
    features,
    reader,
    randomize_input=True,
    num_epochs=None,
    queue_capacity=10000,
    feature_queue_capacity=100,
    reader_num_threads=1,
    num_enqueue_threads=2,
    parse_fn=None,
    name=None,
    read_batch_size=None,
):
    """read_keyed_batch_features without the keys."""
    return read_keyed_batch_features(
        file_pattern,
        batch_size,
        features,
        reader,
        randomize_input=randomize_input,
        num_epochs=num_epochs,
        queue_capacity=queue_capacity,
        reader_num_threads=reader_num_threads,
        feature_queue_capacity=feature_queue_capacity,
        num_enqueue_threads=num_enqueue_threads,
        read_batch_size=read_batch_size,
        parse_fn=parse_fn,
        name=name,
    )[1]


def read_batch_record_features(
    file_pattern,
    batch_size,
    features,
    randomize_input=True,
    num_epochs=None,
    queue_capacity=10000,
    reader_num_threads=1,
    name="dequeue_record_examples",
):
    """read_batch_features of files of TFRecords."""
    return read_batch_features(
        file_pattern,
        batch_size,
        features,
        io_ops.TFRecordReader,
        randomize_input=randomize_input,
        num_epochs=num_epochs,
        queue_capacity=queue_capacity,
        reader_num_threads=reader_num_threads,
        name=name,
    )
