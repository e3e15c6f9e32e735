"""Readers of files, which take the names of files from a queue, and files as strings."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.lib.io import tf_record
from braid.tensorflow.python.ops import gen_data_flow_ops  # noqa: F401
from braid.tensorflow.python.ops import gen_io_ops
from braid.tensorflow.python.ops.gen_io_ops import (  # noqa: F401
    matching_files,
    merge_v2_checkpoints,
    read_file,
    restore_v2,
    save_v2,
    write_file,
)
from braid.tensorflow.python.util.tf_export import tf_export


def _save(filename, tensor_names, tensors, tensor_slices=None, name="save"):
    """Saves tensors under names in a V1 checkpoint.

    tensor_slices: which part each is of a whole, "shape slice".
    """
    if tensor_slices is None:
        return gen_io_ops.save(filename, tensor_names, tensors, name=name)
    return gen_io_ops.save_slices(filename, tensor_names, tensor_slices, tensors, name=name)


def _restore_slice(
    file_pattern, tensor_name, shape_and_slice, tensor_type, name="restore_slice", preferred_shard=-1
):
    """A tensor of a V1 checkpoint, or the part that `shape_and_slice` names."""
    return gen_io_ops.restore_slice(
        file_pattern,
        tensor_name,
        shape_and_slice,
        dtypes.as_dtype(tensor_type).base_dtype,
        preferred_shard,
        name=name,
    )


@tf_export(v1=["ReaderBase"])
class ReaderBase:
    """Gives the records of files one after the other; the names of the files come from a queue.

    Args:
      reader_ref: the handle.
      supports_serialize: whether its state can be kept as a string.
    """

    def __init__(self, reader_ref, supports_serialize=False):
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    @property
    def reader_ref(self):
        return self._reader_ref

    @property
    def supports_serialize(self):
        """Whether `serialize_state` and `restore_state` work."""
        return self._supports_serialize

    def _op(self, name):
        return getattr(gen_io_ops, name + ("_v2" if self._reader_ref.dtype == dtypes.resource else ""))

    def _handle(self, queue):
        """The queue's handle, of the kind that the reader's ops take."""
        handle = queue if isinstance(queue, ops.Tensor) else queue.queue_ref
        if self._reader_ref.dtype != dtypes.resource and handle.dtype == dtypes.resource:
            return gen_data_flow_ops.fake_queue(handle)
        return handle

    def read(self, queue, name=None):
        """(key, value) of the next record, string scalars. It waits for the name of a file."""
        return self._op("reader_read")(self._reader_ref, self._handle(queue), name=name)

    def read_up_to(self, queue, num_records, name=None):
        """(keys, values) of up to `num_records` records, string vectors."""
        return self._op("reader_read_up_to")(self._reader_ref, self._handle(queue), num_records, name=name)

    def num_records_produced(self, name=None):
        """The number of records so far, an int64 scalar."""
        return self._op("reader_num_records_produced")(self._reader_ref, name=name)

    def num_work_units_completed(self, name=None):
        """The number of files that were read to the end, an int64 scalar."""
        return self._op("reader_num_work_units_completed")(self._reader_ref, name=name)

    def serialize_state(self, name=None):
        """The state as a string; not all readers have one."""
        return self._op("reader_serialize_state")(self._reader_ref, name=name)

    def restore_state(self, state, name=None):
        """The operation that gives the reader a state that `serialize_state` made."""
        return self._op("reader_restore_state")(self._reader_ref, state, name=name)

    def reset(self, name=None):
        """The operation that makes the reader as new."""
        return self._op("reader_reset")(self._reader_ref, name=name)


@tf_export(v1=["WholeFileReader"])
class WholeFileReader(ReaderBase):
    """A record is the content of a file, its key the file's name."""

    def __init__(self, name=None):
        super().__init__(gen_io_ops.whole_file_reader_v2(name=name), supports_serialize=True)


@tf_export(v1=["TextLineReader"])
class TextLineReader(ReaderBase):
    """A record is a line, without its end; the key is FILE:LINE. skip_header_lines: of each file."""

    def __init__(self, skip_header_lines=None, name=None):
        super().__init__(gen_io_ops.text_line_reader_v2(skip_header_lines=skip_header_lines, name=name))


@tf_export(v1=["FixedLengthRecordReader"])
class FixedLengthRecordReader(ReaderBase):
    """A record has `record_bytes` bytes, one each `hop_bytes`, between a header and a footer of the file.

    encoding: "none" or "zlib".
    """

    def __init__(
        self, record_bytes, header_bytes=None, footer_bytes=None, hop_bytes=None, name=None, encoding=None
    ):
        super().__init__(
            gen_io_ops.fixed_length_record_reader_v2(
                record_bytes=record_bytes,
                header_bytes=header_bytes,
                footer_bytes=footer_bytes,
                hop_bytes=hop_bytes,
                encoding=encoding,
                name=name,
            )
        )


@tf_export(v1=["TFRecordReader"])
class TFRecordReader(ReaderBase):
    """A record is one of a TFRecord file. options: TFRecordOptions, the compression."""

    def __init__(self, name=None, options=None):
        compression = tf_record.TFRecordOptions.get_compression_type_string(options)
        super().__init__(gen_io_ops.tf_record_reader_v2(name=name, compression_type=compression))


@tf_export(v1=["LMDBReader"])
class LMDBReader(ReaderBase):
    """A record is a key and a value of an LMDB database. options: not used."""

    def __init__(self, name=None, options=None):
        del options
        super().__init__(gen_io_ops.lmdb_reader(name=name))


@tf_export(v1=["IdentityReader"])
class IdentityReader(ReaderBase):
    """A record is the name of a file itself, as key and as value."""

    def __init__(self, name=None):
        super().__init__(gen_io_ops.identity_reader_v2(name=name), supports_serialize=True)


def __getattr__(name):
    """The functions of gen_io_ops, which TensorFlow's module of this name has too."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(gen_io_ops, name)
