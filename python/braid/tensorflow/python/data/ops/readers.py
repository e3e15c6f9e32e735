"""Datasets of the records of files."""

from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.data.util import convert
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_spec
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_dataset_ops
from braid.tensorflow.python.ops import gen_experimental_dataset_ops
from braid.tensorflow.python.util.tf_export import tf_export

_DEFAULT_READER_BUFFER_SIZE_BYTES = 256 * 1024


def _names(filenames):
    """The names of files as a dataset of scalars. TypeError: they are no strings."""
    if isinstance(filenames, dataset_ops.DatasetV2):
        spec = filenames.element_spec
        if not isinstance(spec, tensor_spec.TensorSpec) or spec.dtype != dtypes.string:
            raise TypeError("`filenames` must be a `tf.data.Dataset` of `tf.string` elements.")
        if not spec.shape.is_compatible_with(tensor_shape.TensorShape([])):
            raise TypeError("`filenames` must be a `tf.data.Dataset` of scalar `tf.string` elements.")
        return filenames
    filenames = ops.convert_to_tensor(filenames, dtype=dtypes.string)
    filenames = array_ops.reshape(filenames, [-1], name="flat_filenames")
    return dataset_ops.Dataset.from_tensor_slices(filenames)


class _File(dataset_ops.DatasetSource):
    """The records of a file."""

    @property
    def element_spec(self):
        return tensor_spec.TensorSpec([], dtypes.string)


class _Reader(dataset_ops.DatasetV1Adapter):
    """The records of files, one file after the other, or of `num_parallel_reads` files in turns.

    `read(name)` makes the node for one file, in the function that reads it.
    """

    def __init__(self, filenames, read, num_parallel_reads=None):
        self._filenames = names = _names(filenames)

        def records(name):
            return _File(read(name))

        if num_parallel_reads is None:
            dataset = names.flat_map(records)
        elif num_parallel_reads == dataset_ops.AUTOTUNE:
            dataset = names.interleave(records, num_parallel_calls=num_parallel_reads)
        else:
            dataset = ParallelInterleaveDataset(
                names,
                records,
                cycle_length=num_parallel_reads,
                block_length=1,
                sloppy=False,
                buffer_output_elements=None,
                prefetch_input_elements=None,
            )
        super().__init__(dataset)

    def _inputs(self):
        return []


def _text(name, value):
    return convert.optional_param_to_tensor(name, value, argument_default="", argument_dtype=dtypes.string)


def _buffer(size):
    return convert.optional_param_to_tensor(
        "buffer_size", size, argument_default=_DEFAULT_READER_BUFFER_SIZE_BYTES
    )


@tf_export(v1=["data.TextLineDataset"])
class TextLineDatasetV1(_Reader):
    """The lines of text files, without their ends.

    Args:
      filenames: strings, or a dataset of strings.
      compression_type: "", "ZLIB" or "GZIP".
      buffer_size: the bytes that are read at a time.
      num_parallel_reads: from how many files elements come in turns; None: one file after the other.
    """

    def __init__(self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None):
        def read(name):
            compression = _text("compression_type", compression_type)
            return gen_dataset_ops.text_line_dataset(name, compression, _buffer(buffer_size))

        super().__init__(filenames, read, num_parallel_reads)


TextLineDataset = TextLineDatasetV2 = TextLineDatasetV1


@tf_export(v1=["data.TFRecordDataset"])
class TFRecordDatasetV1(_Reader):
    """The records of TFRecord files; arguments as of TextLineDataset."""

    def __init__(self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None):
        def read(name):
            compression = _text("compression_type", compression_type)
            return gen_dataset_ops.tf_record_dataset(name, compression, _buffer(buffer_size))

        super().__init__(filenames, read, num_parallel_reads)

    def _inputs(self):
        return [self._filenames]


TFRecordDataset = TFRecordDatasetV2 = TFRecordDatasetV1


@tf_export(v1=["data.FixedLengthRecordDataset"])
class FixedLengthRecordDatasetV1(_Reader):
    """Pieces of `record_bytes` bytes of files, between a header and a footer; arguments as of
    TextLineDataset.
    """

    def __init__(
        self,
        filenames,
        record_bytes,
        header_bytes=None,
        footer_bytes=None,
        buffer_size=None,
        compression_type=None,
        num_parallel_reads=None,
    ):
        def read(name):
            record = ops.convert_to_tensor(record_bytes, dtype=dtypes.int64, name="record_bytes")
            header = convert.optional_param_to_tensor("header_bytes", header_bytes)
            footer = convert.optional_param_to_tensor("footer_bytes", footer_bytes)
            size = _buffer(buffer_size)
            compression = _text("compression_type", compression_type)
            return gen_dataset_ops.fixed_length_record_dataset_v2(
                name, header, record, footer, size, compression
            )

        super().__init__(filenames, read, num_parallel_reads)


FixedLengthRecordDataset = FixedLengthRecordDatasetV2 = FixedLengthRecordDatasetV1


class ParallelInterleaveDataset(dataset_ops._Mapped):
    """The elements of the datasets that a function makes, in turns, of which several prefetch."""

    def __init__(
        self,
        input_dataset,
        map_func,
        cycle_length,
        block_length,
        sloppy,
        buffer_output_elements,
        prefetch_input_elements,
    ):
        wrapped = dataset_ops._dataset_function(
            map_func, "tf.data.experimental.parallel_interleave()", input_dataset
        )
        super().__init__(
            input_dataset,
            wrapped,
            gen_experimental_dataset_ops.parallel_interleave_dataset,
            wrapped.output_structure._element_spec,
            ops.convert_to_tensor(cycle_length, dtype=dtypes.int64, name="cycle_length"),
            ops.convert_to_tensor(block_length, dtype=dtypes.int64, name="block_length"),
            ops.convert_to_tensor(sloppy, dtype=dtypes.bool, name="sloppy"),
            convert.optional_param_to_tensor(
                "buffer_output_elements", buffer_output_elements, argument_default=2 * block_length
            ),
            convert.optional_param_to_tensor(
                "prefetch_input_elements", prefetch_input_elements, argument_default=2 * cycle_length
            ),
            f=wrapped.function,
        )
