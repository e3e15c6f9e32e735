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
    """The names of files: a dataset of scalars, or a tensor. TypeError: they are no strings."""
    if isinstance(filenames, dataset_ops.DatasetV2):
        spec = filenames.element_spec
        if not isinstance(spec, tensor_spec.TensorSpec) or spec.dtype != dtypes.string:
            raise TypeError("`filenames` must be a `tf.data.Dataset` of `tf.string` elements.")
        if not spec.shape.is_compatible_with(tensor_shape.TensorShape([])):
            raise TypeError("`filenames` must be a `tf.data.Dataset` of scalar `tf.string` elements.")
        return filenames
    filenames = ops.convert_to_tensor(filenames, dtype=dtypes.string, name="filenames")
    return array_ops.reshape(filenames, [-1], name="flat_filenames")


class _Files(dataset_ops.DatasetSource):
    """The records of files, one file after the other: `make(filenames)` is the node."""

    def __init__(self, filenames, make):
        super().__init__(make(filenames))

    @property
    def element_spec(self):
        return tensor_spec.TensorSpec([], dtypes.string)


def _records(filenames, make, num_parallel_reads=None):
    """A dataset of the records of files; with `num_parallel_reads` of so many files in turns."""
    filenames = _names(filenames)
    if isinstance(filenames, ops.Tensor):
        if num_parallel_reads is None:
            return _Files(filenames, make)
        filenames = dataset_ops.Dataset.from_tensor_slices(filenames)

    def read(name):
        return _Files(name, make)

    if num_parallel_reads is None:
        return filenames.flat_map(read)
    if num_parallel_reads == dataset_ops.AUTOTUNE:
        return filenames.interleave(read, num_parallel_calls=num_parallel_reads)
    return ParallelInterleaveDataset(
        filenames,
        read,
        cycle_length=num_parallel_reads,
        block_length=1,
        sloppy=False,
        buffer_output_elements=None,
        prefetch_input_elements=None,
    )


class _Reader(dataset_ops.DatasetV1Adapter):
    """A dataset of records; `_impl` is how it is made."""

    def __init__(self, filenames, make, num_parallel_reads=None):
        self._filenames = filenames
        super().__init__(_records(filenames, make, num_parallel_reads))

    def _inputs(self):
        return [self._filenames] if isinstance(self._filenames, dataset_ops.DatasetV2) else []


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
        self._compression_type, self._buffer_size = _text("compression_type", compression_type), _buffer(
            buffer_size
        )

        def make(names):
            return gen_dataset_ops.text_line_dataset(names, self._compression_type, self._buffer_size)

        super().__init__(filenames, make, num_parallel_reads)


TextLineDataset = TextLineDatasetV2 = TextLineDatasetV1


@tf_export(v1=["data.TFRecordDataset"])
class TFRecordDatasetV1(_Reader):
    """The records of TFRecord files; arguments as of TextLineDataset."""

    def __init__(self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None):
        self._compression_type, self._buffer_size = _text("compression_type", compression_type), _buffer(
            buffer_size
        )

        def make(names):
            return gen_dataset_ops.tf_record_dataset(names, self._compression_type, self._buffer_size)

        filenames = _names(filenames)  # in TensorFlow they are always a dataset of names here
        if isinstance(filenames, ops.Tensor):
            filenames = dataset_ops.Dataset.from_tensor_slices(filenames)
        super().__init__(filenames, make, num_parallel_reads)


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
        self._record_bytes = ops.convert_to_tensor(record_bytes, dtype=dtypes.int64, name="record_bytes")
        self._header_bytes = convert.optional_param_to_tensor("header_bytes", header_bytes)
        self._footer_bytes = convert.optional_param_to_tensor("footer_bytes", footer_bytes)
        self._buffer_size = _buffer(buffer_size)
        self._compression_type = _text("compression_type", compression_type)

        def make(names):
            return gen_dataset_ops.fixed_length_record_dataset_v2(
                names,
                self._header_bytes,
                self._record_bytes,
                self._footer_bytes,
                self._buffer_size,
                self._compression_type,
            )

        super().__init__(filenames, make, num_parallel_reads)


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
