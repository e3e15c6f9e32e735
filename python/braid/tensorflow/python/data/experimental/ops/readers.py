"""Datasets of CSV files and of files of Examples, in batches."""

import collections
import csv
import gzip

from braid.tensorflow.python.data.experimental.ops import error_ops
from braid.tensorflow.python.data.experimental.ops import parsing_ops
from braid.tensorflow.python.data.experimental.ops import shuffle_ops
from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.data.ops import readers as core_readers
from braid.tensorflow.python.data.util import convert
from braid.tensorflow.python.data.util import nest
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_spec
from braid.tensorflow.python.lib.io import file_io
from braid.tensorflow.python.ops import gen_experimental_dataset_ops
from braid.tensorflow.python.ops import io_ops
from braid.tensorflow.python.util.tf_export import tf_export

_CSV_TYPES = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.string)


def _file_names(file_pattern):
    """The names of the files that match a pattern or several, in order. ValueError: none does."""
    if not file_pattern:
        raise ValueError("File pattern is empty.")
    patterns = file_pattern if isinstance(file_pattern, (list, tuple)) else [file_pattern]
    names = sorted({name for pattern in patterns for name in file_io.get_matching_files(pattern)})
    if not names:
        raise ValueError("No files match %s." % file_pattern)
    return names


def _shuffled_and_repeated(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed):
    if num_epochs != 1 and shuffle:
        return dataset.apply(shuffle_ops.shuffle_and_repeat(shuffle_buffer_size, num_epochs, shuffle_seed))
    if shuffle:
        return dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    return dataset if num_epochs == 1 else dataset.repeat(num_epochs)


# ---- CSV ----


def _default(value):
    """The default of a column as tf.decode_csv takes it: an empty tensor for a type, where a field must be
    there.
    """
    if isinstance(value, (dtypes.DType, type)) and value in _CSV_TYPES:
        return constant_op.constant([], dtype=value)
    return value


@tf_export(v1=["data.experimental.CsvDataset"])
class CsvDataset(dataset_ops.DatasetSource):
    """The records of CSV files, as tuples of scalars.

    Args:
      filenames: strings.
      record_defaults: for each column a value for empty fields, or a type where a field must be there.
      compression_type: "", "ZLIB" or "GZIP".
      buffer_size: the bytes that are read at a time.
      header: whether the first line of each file is passed over.
      field_delim, use_quote_delim, na_value, select_cols: as of tf.decode_csv.
    """

    def __init__(
        self,
        filenames,
        record_defaults,
        compression_type=None,
        buffer_size=None,
        header=False,
        field_delim=",",
        use_quote_delim=True,
        na_value="",
        select_cols=None,
    ):
        def text(name, value, default):
            return convert.optional_param_to_tensor(name, value, default, dtypes.string)

        self._filenames = ops.convert_to_tensor(filenames, dtype=dtypes.string, name="filenames")
        compression = text("compression_type", compression_type, "")
        defaults = [_default(d) for d in record_defaults]
        self._record_defaults = ops.convert_n_to_tensor(defaults, name="record_defaults")

        self._spec = tuple(tensor_spec.TensorSpec([], d.dtype) for d in self._record_defaults)
        super().__init__(
            gen_experimental_dataset_ops.csv_dataset(
                filenames=self._filenames,
                compression_type=compression,
                buffer_size=convert.optional_param_to_tensor("buffer_size", buffer_size, 4 * 1024 * 1024),
                header=ops.convert_to_tensor(header, dtype=dtypes.bool, name="header"),
                field_delim=ops.convert_to_tensor(field_delim, dtype=dtypes.string, name="field_delim"),
                use_quote_delim=ops.convert_to_tensor(
                    use_quote_delim, dtype=dtypes.bool, name="use_quote_delim"
                ),
                na_value=text("na_value", na_value, ""),
                select_cols=convert.optional_param_to_tensor("select_cols", select_cols, [], dtypes.int64),
                record_defaults=self._record_defaults,
                output_shapes=[s.shape for s in self._spec],
            )
        )

    @property
    def element_spec(self):
        return self._spec


CsvDatasetV1 = CsvDatasetV2 = CsvDataset


def _rows(names, columns, delim, quotes, header, file_io_fn):
    """The fields of all lines of files. ValueError: a line has another number of them."""
    for name in names:
        with file_io_fn(name) as f:
            rows = csv.reader(f, delimiter=delim, quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE)
            if header:
                next(rows)
            for row in rows:
                if len(row) != columns:
                    raise ValueError(
                        "Problem inferring types: CSV row has different number of fields than expected."
                    )
                yield row


def _type_of(text, na_value, before):
    """The type that a field has, if those before had type `before`."""
    if text in ("", na_value):
        return before
    order = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64, dtypes.string]
    for dtype in order[0 if before is None else order.index(before) :]:
        if dtype == dtypes.string:
            return dtype
        try:
            if dtype in (dtypes.int32, dtypes.int64):
                if dtype.min <= int(text) <= dtype.max:
                    return dtype
            elif dtype == dtypes.float32:
                if abs(float(text)) <= dtype.max or float(text) in (float("inf"), float("-inf")):
                    return dtype
            else:
                float(text)
                return dtype
        except ValueError:
            continue
    return dtypes.string


def _inferred_defaults(names, columns, delim, quotes, na_value, header, most_rows, select, file_io_fn):
    """A default for each column, of the type that its first fields have."""
    select = list(range(columns)) if select is None else select
    found = [None] * len(select)
    for i, row in enumerate(_rows(names, columns, delim, quotes, header, file_io_fn)):
        if most_rows is not None and i >= most_rows:
            break
        found = [_type_of(row[column], na_value, t) for column, t in zip(select, found)]
    return [
        constant_op.constant(["" if t in (None, dtypes.string) else 0], dtype=t or dtypes.string)
        for t in found
    ]


def _column_names(names, delim, quotes, header, file_io_fn):
    """The fields of the first line, which all files have."""
    quoting = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    found = None
    for name in names:
        with file_io_fn(name) as f:
            try:
                own = next(csv.reader(f, delimiter=delim, quoting=quoting))
            except StopIteration:
                raise ValueError(
                    "Received StopIteration when reading the header line of %s.  Empty file?" % name
                ) from None
        if found is not None and own != found and header:
            raise ValueError("Files have different column names in the header row.")
        found = own if found is None else found
    return found


def _prefetched(dataset, count):
    """count: None for as many batches as the runtime finds best."""
    return dataset.prefetch(dataset_ops.AUTOTUNE if count is None else count)


@tf_export(v1=["data.experimental.make_csv_dataset"])
def make_csv_dataset(
    file_pattern,
    batch_size,
    column_names=None,
    column_defaults=None,
    label_name=None,
    select_columns=None,
    field_delim=",",
    use_quote_delim=True,
    na_value="",
    header=True,
    num_epochs=None,
    shuffle=True,
    shuffle_buffer_size=10000,
    shuffle_seed=None,
    prefetch_buffer_size=None,
    num_parallel_reads=None,
    sloppy=False,
    num_rows_for_inference=100,
    compression_type=None,
    ignore_errors=False,
):
    """Batches of the records of CSV files, as dicts of columns, or (dict, label).

    Args:
      file_pattern: which files: a pattern or a list.
      batch_size: the records of a batch.
      column_names: of all columns; None: the first line has them.
      column_defaults: for each selected column a default or a type; None: from the first lines.
      label_name: the column that is the label.
      select_columns: numbers or names of the columns to be taken; all if None.
      field_delim, use_quote_delim, na_value: as of tf.decode_csv.
      header: whether the first line of each file has names.
      num_epochs: how often each record comes; without end if None.
      shuffle, shuffle_buffer_size, shuffle_seed: whether records are shuffled.
      prefetch_buffer_size: how many batches are made before they are wanted.
      num_parallel_reads: from how many files records come in turns.
      sloppy: whether elements may come as they are ready.
      num_rows_for_inference: how many lines say what types columns have; all if None.
      compression_type: "", "GZIP", or "ZLIB", with which names and defaults must be given.
      ignore_errors: whether records that fail are left out.

    Raises ValueError where names, columns and defaults do not fit.
    """
    names = _file_names(file_pattern)
    dataset = dataset_ops.Dataset.from_tensor_slices(names)
    if shuffle:
        dataset = dataset.shuffle(len(names), shuffle_seed)

    def opened(name):
        if compression_type == "GZIP":
            return gzip.open(name, "rt", newline="")
        if compression_type:
            raise ValueError(
                f"compression_type {compression_type!r} is not supported for probing columns: give their names and "
                "defaults"
            )
        return open(name, newline="")

    if column_names is None:
        if not header:
            raise ValueError("Cannot infer column names without a header line.")
        column_names = _column_names(names, field_delim, use_quote_delim, header, opened)
    if len(column_names) != len(set(column_names)):
        raise ValueError("Cannot have duplicate column names.")
    if select_columns is not None:
        select_columns = _column_numbers(select_columns, column_names)
    if column_defaults is not None:
        column_defaults = [_default(d) for d in column_defaults]
    else:
        column_defaults = _inferred_defaults(
            names,
            len(column_names),
            field_delim,
            use_quote_delim,
            na_value,
            header,
            num_rows_for_inference,
            select_columns,
            opened,
        )
    if select_columns is not None and len(column_defaults) != len(select_columns):
        raise ValueError("If specified, column_defaults and select_columns must have same length.")
    if select_columns is not None and len(column_names) > len(select_columns):
        column_names = [column_names[i] for i in select_columns]
    if label_name is not None and label_name not in column_names:
        raise ValueError("`label_name` provided must be one of the columns.")

    def records(name):
        made = CsvDataset(
            name,
            record_defaults=column_defaults,
            field_delim=field_delim,
            use_quote_delim=use_quote_delim,
            na_value=na_value,
            select_cols=select_columns,
            header=header,
            compression_type=compression_type,
        )
        return made.apply(error_ops.ignore_errors()) if ignore_errors else made

    def by_name(*columns):
        features = collections.OrderedDict(zip(column_names, columns))
        if label_name is None:
            return features
        label = features.pop(label_name)
        return features, label

    dataset = core_readers.ParallelInterleaveDataset(
        dataset, records, num_parallel_reads or 1, 1, sloppy, None, None
    )
    dataset = _shuffled_and_repeated(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    dataset = dataset.batch(batch_size=batch_size, drop_remainder=num_epochs is None)
    return _prefetched(dataset.map(by_name), prefetch_buffer_size)


make_csv_dataset_v1 = make_csv_dataset_v2 = make_csv_dataset


def _column_numbers(select_columns, column_names):
    """The ascending numbers of columns. ValueError: a name or number is none."""
    if len(select_columns) != len(set(select_columns)):
        raise ValueError("select_columns must be sorted and not have duplicates.")
    if all(isinstance(x, int) for x in select_columns):
        if list(select_columns) != sorted(select_columns):
            raise ValueError("select_columns must be sorted and not have duplicates.")
        if select_columns and (select_columns[0] < 0 or select_columns[-1] >= len(column_names)):
            raise ValueError("select_columns must be indices within the columns.")
        return list(select_columns)
    try:
        return sorted(column_names.index(x) for x in select_columns)
    except ValueError:
        raise ValueError("Value specified in select_columns not a valid index or name.") from None


# ---- Examples ----


@tf_export(v1=["data.experimental.make_batched_features_dataset"])
def make_batched_features_dataset(
    file_pattern,
    batch_size,
    features,
    reader=core_readers.TFRecordDataset,
    label_key=None,
    reader_args=None,
    num_epochs=None,
    shuffle=True,
    shuffle_buffer_size=10000,
    shuffle_seed=None,
    prefetch_buffer_size=None,
    reader_num_threads=None,
    parser_num_threads=None,
    sloppy_ordering=False,
    drop_final_batch=False,
):
    """Batches of the Examples in files, as dicts of features, or (dict, label).

    Args:
      file_pattern: which files: a pattern or a list.
      batch_size: the Examples of a batch.
      features: as of tf.parse_example.
      reader: a class or function of a file's name that makes a dataset of strings, or of pairs (key, string).
      label_key: the feature that is the label.
      reader_args: further arguments of `reader`.
      num_epochs: how often each Example comes; without end if None.
      shuffle, shuffle_buffer_size, shuffle_seed: whether Examples are shuffled.
      prefetch_buffer_size: how many batches are made before they are wanted.
      reader_num_threads, parser_num_threads: how many files are read, and batches parsed, at a time.
      sloppy_ordering: whether elements may come as they are ready.
      drop_final_batch: whether a smaller rest is left out.
    """
    if isinstance(reader, type) and issubclass(reader, io_ops.ReaderBase):
        raise TypeError(
            "The `reader` argument must return a `Dataset` object. `tf.ReaderBase` subclasses are not supported. For "
            "example, pass `tf.data.TFRecordDataset` instead of `tf.TFRecordReader`."
        )
    dataset = dataset_ops.Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    args = list(reader_args or [])

    def records(name):
        return reader(name, *args)

    if reader_num_threads == dataset_ops.AUTOTUNE:
        options = dataset_ops.Options()
        options.experimental_deterministic = not sloppy_ordering
        dataset = dataset.interleave(records, num_parallel_calls=reader_num_threads).with_options(options)
    else:
        dataset = core_readers.ParallelInterleaveDataset(
            dataset, records, reader_num_threads or 1, 1, sloppy_ordering, None, None
        )
    if dataset_ops.get_legacy_output_types(dataset) == (dtypes.string, dtypes.string):
        dataset = dataset.map(lambda _, value: value)
    dataset = _shuffled_and_repeated(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    dataset = dataset.apply(
        parsing_ops.parse_example_dataset(features, num_parallel_calls=parser_num_threads or 2)
    )
    if label_key:
        if label_key not in features:
            raise ValueError("The `label_key` provided (%r) must be one of the `features` keys." % label_key)
        dataset = dataset.map(lambda x: (x, x.pop(label_key)))
    return _prefetched(dataset, prefetch_buffer_size)


def make_tf_record_dataset(
    file_pattern,
    batch_size,
    parser_fn=None,
    num_epochs=None,
    shuffle=True,
    shuffle_buffer_size=None,
    shuffle_seed=None,
    prefetch_buffer_size=None,
    num_parallel_reads=None,
    num_parallel_parser_calls=None,
    drop_final_batch=False,
):
    """Batches of the records in TFRecord files, or of what `parser_fn` makes of each.

    Args:
      file_pattern: which files: a pattern or a list.
      batch_size: the records of a batch.
      parser_fn: a function of a record; None: the records themselves.
      num_epochs: how often each record comes; without end if None, and then all batches are whole.
      shuffle, shuffle_buffer_size, shuffle_seed: whether files and records are shuffled (None: among 10,000).
      prefetch_buffer_size: how many batches are made before they are wanted.
      num_parallel_reads: how many files are read at a time; 24 if None.
      num_parallel_parser_calls: how many records are parsed at a time; a batch if None.
      drop_final_batch: whether a smaller rest is left out.
    """
    files = dataset_ops.Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    reads = 24 if num_parallel_reads is None else num_parallel_reads
    dataset = core_readers.TFRecordDataset(files, num_parallel_reads=reads)
    size = 10000 if shuffle_buffer_size is None else shuffle_buffer_size
    dataset = _shuffled_and_repeated(dataset, num_epochs, shuffle, size, shuffle_seed)
    if parser_fn is not None:
        calls = batch_size if num_parallel_parser_calls is None else num_parallel_parser_calls
        dataset = dataset.map(parser_fn, num_parallel_calls=calls)
    dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    return dataset if prefetch_buffer_size == 0 else _prefetched(dataset, prefetch_buffer_size)


make_batched_features_dataset_v1 = make_batched_features_dataset_v2 = make_batched_features_dataset


@tf_export(v1=["data.experimental.SqlDataset"])
class SqlDataset(dataset_ops.DatasetSource):
    """The rows of a query of a database, each column a scalar.

    Args:
      driver_name: "sqlite".
      data_source_name: the database's file, which must not change meanwhile.
      query: one statement, which only reads.
      output_types: of the columns, a tuple.
    """

    def __init__(self, driver_name, data_source_name, query, output_types):
        def text(value, name):
            return ops.convert_to_tensor(value, dtype=dtypes.string, name=name)

        self._driver_name = text(driver_name, "driver_name")
        self._data_source_name = text(data_source_name, "data_source_name")
        self._query = text(query, "query")
        self._spec = nest.map_structure(lambda dtype: tensor_spec.TensorSpec([], dtype), output_types)
        super().__init__(
            gen_experimental_dataset_ops.sql_dataset(
                self._driver_name,
                self._data_source_name,
                self._query,
                **dataset_ops.flat_structure(element_spec=self._spec),
            )
        )

    @property
    def element_spec(self):
        return self._spec


SqlDatasetV1 = SqlDatasetV2 = SqlDataset
