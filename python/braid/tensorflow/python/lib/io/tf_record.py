"""TFRecord files: sequences of byte strings with checksums (tf.python_io, tf.io)."""

import zlib

from braid import _native
from braid.tensorflow.python.framework import errors
from braid.tensorflow.python.util import compat
from braid.tensorflow.python.util.tf_export import tf_export

_NUMBERS = {"": 0, "ZLIB": 1, "GZIP": 2}


@tf_export(
    v1=["io.TFRecordCompressionType", "python_io.TFRecordCompressionType"],
)
class TFRecordCompressionType:
    """How a whole file is compressed."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


@tf_export("io.TFRecordOptions", v1=["io.TFRecordOptions", "python_io.TFRecordOptions"])
class TFRecordOptions:
    """How a file is compressed: "" or None, "ZLIB", "GZIP", a TFRecordCompressionType, or other
    TFRecordOptions.

    The other arguments are zlib's, of deflateInit2; None: the default. Records are handed to zlib in parts of
    `input_buffer_size` bytes, after which it flushes as `flush_mode` says. `output_buffer_size` has no
    effect.
    """

    compression_type_map = {
        TFRecordCompressionType.ZLIB: "ZLIB",
        TFRecordCompressionType.GZIP: "GZIP",
        TFRecordCompressionType.NONE: "",
    }

    def __init__(
        self,
        compression_type=None,
        flush_mode=None,
        input_buffer_size=None,
        output_buffer_size=None,
        window_bits=None,
        compression_level=None,
        compression_method=None,
        mem_level=None,
        compression_strategy=None,
    ):
        self.get_compression_type_string(compression_type)
        self.compression_type = compression_type
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options):
        """The compression of options in any form: "", "ZLIB" or "GZIP". ValueError: it is none."""
        if not options:
            return ""
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        if options in cls.compression_type_map:
            return cls.compression_type_map[options]
        if options in _NUMBERS:
            return options
        raise ValueError('Not a valid compression_type: "{}"'.format(options))


def _number(options):
    return _NUMBERS[TFRecordOptions.get_compression_type_string(options)]


def _zlib_options(options):
    """The arguments of the writer: those that are given."""
    while isinstance(options, TFRecordOptions) and isinstance(options.compression_type, TFRecordOptions):
        options = options.compression_type
    if not isinstance(options, TFRecordOptions):
        return {}
    if options.compression_method not in (None, zlib.DEFLATED):
        raise errors.InvalidArgumentError(None, None, "compression_method must be zlib.DEFLATED")
    given = {
        "level": options.compression_level,
        "window_bits": options.window_bits,
        "mem_level": options.mem_level,
        "strategy": options.compression_strategy,
        "flush_mode": options.flush_mode,
        "flush_bytes": options.input_buffer_size,
    }
    return {key: value for key, value in given.items() if value is not None}


def _call(function, *args, **kwargs):
    """function(...) with TensorFlow's errors."""
    try:
        return function(*args, **kwargs)
    except _native.Error as e:
        raise errors.make_op_error(e) from None
    except ValueError:
        raise errors.FailedPreconditionError(None, None, "Writer is closed.") from None


@tf_export("io.TFRecordWriter", v1=["io.TFRecordWriter", "python_io.TFRecordWriter"])
class TFRecordWriter:
    """Writes records to a file, which it makes or empties."""

    def __init__(self, path, options=None):
        path = compat.as_str_any(compat.path_to_str(path))
        self._writer = _call(_native.RecordWriter, path, _number(options), **_zlib_options(options))

    def write(self, record):
        """Appends a record: bytes or a str. FailedPreconditionError: the file is closed."""
        _call(self._writer.write, compat.as_bytes(record))

    def flush(self):
        """Hands all records to the system."""
        _call(self._writer.flush)

    def close(self):
        _call(self._writer.close)

    def __enter__(self):
        return self

    def __exit__(self, unused_type, unused_value, unused_traceback):
        self.close()


@tf_export(v1=["io.tf_record_iterator", "python_io.tf_record_iterator"])
def tf_record_iterator(path, options=None):
    """The records of a file.

    NotFoundError; DataLossError: a checksum is wrong, or the file ends within a record.
    """
    try:
        yield from _native.RecordReader(compat.as_str_any(compat.path_to_str(path)), _number(options))
    except _native.Error as e:
        raise errors.make_op_error(e) from None
