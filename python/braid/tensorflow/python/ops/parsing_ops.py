"""Parsing Example and SequenceExample messages, CSV lines and raw bytes."""

import collections
import re

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import gen_parsing_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.gen_parsing_ops import parse_tensor  # noqa: F401
from braid.tensorflow.python.platform import tf_logging
from braid.tensorflow.python.util.tf_export import tf_export

# ---- What a feature is ----


@tf_export("io.VarLenFeature", v1=["VarLenFeature", "io.VarLenFeature"])
class VarLenFeature(collections.namedtuple("VarLenFeature", ["dtype"])):
    """A feature with any number of values: parsed as a SparseTensor."""


@tf_export("io.SparseFeature", v1=["io.SparseFeature", "SparseFeature"])
class SparseFeature(
    collections.namedtuple("SparseFeature", ["index_key", "value_key", "dtype", "size", "already_sorted"])
):
    """A SparseTensor of two features: indices (of one dimension, or a list of keys) and values."""

    def __new__(cls, index_key, value_key, dtype, size, already_sorted=False):
        return super().__new__(cls, index_key, value_key, dtype, size, already_sorted)


@tf_export("io.FixedLenFeature", v1=["io.FixedLenFeature", "FixedLenFeature"])
class FixedLenFeature(collections.namedtuple("FixedLenFeature", ["shape", "dtype", "default_value"])):
    """A feature of a given shape: parsed as a tensor. Without a default it must be there."""

    def __new__(cls, shape, dtype, default_value=None):
        return super().__new__(cls, shape, dtype, default_value)


@tf_export("io.FixedLenSequenceFeature", v1=["io.FixedLenSequenceFeature", "FixedLenSequenceFeature"])
class FixedLenSequenceFeature(
    collections.namedtuple("FixedLenSequenceFeature", ["shape", "dtype", "allow_missing", "default_value"])
):
    """Any number of values of a given shape: parsed as a tensor that is padded in a batch."""

    def __new__(cls, shape, dtype, allow_missing=False, default_value=None):
        return super().__new__(cls, shape, dtype, allow_missing, default_value)


class _Features:
    """A dict of features as the arguments of the ops: by key in their order."""

    def __init__(self, features, kinds):
        self.sparse_keys, self.sparse_types = [], []
        self.dense_keys, self.dense_types, self.dense_shapes = [], [], []
        self.dense_defaults = {}
        for key in sorted(features or {}):
            feature = features[key]
            if not isinstance(feature, tuple(kinds)):
                raise ValueError(f"Unsupported {type(feature).__name__} {feature} for key {key!r}")
            if isinstance(feature, VarLenFeature):
                self._need(key, feature, "dtype")
                self._sparse(key, feature.dtype)
            elif isinstance(feature, SparseFeature):
                self._sparse_feature(key, feature)
            elif isinstance(feature, FixedLenFeature):
                self._fixed(key, feature)
            else:
                self._sequence(key, feature)

    @staticmethod
    def _need(key, feature, what):
        value = getattr(feature, what)
        if value is None or (what == "index_key" and not value):
            name = {"dtype": "type", "shape": "shape"}.get(what, what)
            raise ValueError(f"Missing {name} for feature {key}. Received feature={feature}.")

    def _sparse(self, key, dtype):
        if key in self.sparse_keys:
            known = self.sparse_types[self.sparse_keys.index(key)]
            if known != dtype:
                raise ValueError(f"Conflicting type {known} vs {dtype} for feature {key}.")
            return
        self.sparse_keys.append(key)
        self.sparse_types.append(dtype)

    def _sparse_feature(self, key, feature):
        for what in ("index_key", "value_key", "dtype", "size"):
            self._need(key, feature, what)
        index_keys = feature.index_key
        if isinstance(index_keys, str):
            index_keys = [index_keys]
        elif len(index_keys) > 1:
            tf_logging.warning(
                "SparseFeature is a complicated feature config and should only be used in order to parse data."
            )
        for index_key in sorted(index_keys):
            self._sparse(index_key, dtypes.int64)
        self._sparse(feature.value_key, feature.dtype)

    def _fixed(self, key, feature):
        self._need(key, feature, "dtype")
        self._need(key, feature, "shape")
        shape = tensor_shape.as_shape(feature.shape)
        if shape.ndims and shape[0].value is None:
            raise ValueError(
                f"First dimension of shape for feature {key} unknown. Consider using FixedLenSequenceFeature. "
                f"Received feature={feature}."
            )
        if not shape.is_fully_defined():
            raise ValueError(
                f"All dimensions of shape for feature {key} need to be known but received {tuple(shape.as_list())}."
            )
        self._dense(key, feature)

    def _sequence(self, key, feature):
        self._need(key, feature, "dtype")
        self._need(key, feature, "shape")
        self._dense(key, feature)
        if feature.allow_missing:
            self.dense_defaults[key] = None
        if feature.default_value is not None:
            self.dense_defaults[key] = feature.default_value

    def _dense(self, key, feature):
        self.dense_keys.append(key)
        self.dense_types.append(feature.dtype)
        self.dense_shapes.append(feature.shape)
        if isinstance(feature, FixedLenFeature) and feature.default_value is not None:
            self.dense_defaults[key] = feature.default_value

    def variable_shapes(self):
        """The shapes for `ParseExample`, where a feature of any length has None first."""
        return [tensor_shape.as_shape(s) for s in self.dense_shapes]

    def defaults(self, shapes):
        """The defaults as tensors: none is an empty one; a scalar fills a feature of any length."""
        made = []
        for key, dtype, shape in zip(self.dense_keys, self.dense_types, shapes):
            default = self.dense_defaults.get(key)
            if shape.ndims is not None and shape.ndims > 0 and shape[0].value is None:
                # What a batch is padded with.
                if default is None:
                    default = ops.convert_to_tensor("" if dtype == dtypes.string else 0, dtype=dtype)
                else:
                    name = "key_" + re.sub("[^A-Za-z0-9_.\\-/]", "_", key)
                    default = ops.convert_to_tensor(default, dtype=dtype, name=name)
                    default = array_ops.reshape(default, [])
            elif default is None:
                default = constant_op.constant([], dtype=dtype)
            elif not isinstance(default, ops.Tensor):
                name = "key_" + re.sub("[^A-Za-z0-9_.\\-/]", "_", key)
                default = ops.convert_to_tensor(default, dtype=dtype, name=name)
                default = array_ops.reshape(default, shape)
            made.append(default)
        return made

    def found(self, indices, values, shapes, dense):
        """The results by key."""
        tensors = [sparse_tensor.SparseTensor(*parts) for parts in zip(indices, values, shapes)]
        return dict(zip(self.sparse_keys + self.dense_keys, tensors + list(dense)))


def _features_to_raw_params(features, types):
    """(sparse_keys, sparse_types, dense_keys, dense_types, dense_defaults, dense_shapes) of a dict of
    features.
    """
    f = _Features(features, types)
    return f.sparse_keys, f.sparse_types, f.dense_keys, f.dense_types, f.dense_defaults, f.dense_shapes


def _construct_sparse_tensors_for_sparse_features(features, tensor_dict):
    """Puts the SparseTensors of SparseFeatures in place of those that they are made of."""
    made = dict(tensor_dict)
    for key in sorted(features):
        feature = features[key]
        if not isinstance(feature, SparseFeature):
            continue
        if isinstance(feature.index_key, str):
            ids, sizes = tensor_dict[feature.index_key], feature.size
        else:
            ids, sizes = [tensor_dict[k] for k in feature.index_key], feature.size
        made[key] = _sparse_merge(ids, tensor_dict[feature.value_key], sizes, feature.already_sorted)
    return {key: value for key, value in made.items() if key in features}


def _sparse_merge(ids, values, sizes, already_sorted):
    from braid.tensorflow.python.ops import sparse_ops

    return sparse_ops.sparse_merge(ids, values, sizes, name=None, already_sorted=already_sorted)


def _with_any_length_first(features):
    """FixedLenSequenceFeatures have any number of values."""
    if features is None:
        return None
    changed = dict(features)
    for key, feature in features.items():
        if not isinstance(feature, FixedLenSequenceFeature):
            continue
        if not feature.allow_missing:
            raise ValueError("Unsupported: FixedLenSequenceFeature requires allow_missing to be True.")
        changed[key] = FixedLenSequenceFeature(
            [None] + list(feature.shape), feature.dtype, feature.allow_missing, feature.default_value
        )
    return changed


_prepend_none_dimension = _with_any_length_first
_EXAMPLE_KINDS = (VarLenFeature, SparseFeature, FixedLenFeature, FixedLenSequenceFeature)


# ---- Examples ----


@tf_export(v1=["io.parse_example", "parse_example"])
def parse_example(serialized, features, name=None, example_names=None):
    """The features of a batch of serialized Examples, as a dict of tensors and SparseTensors.

    Args:
      serialized: a string vector.
      features: a dict of FixedLenFeature, VarLenFeature, SparseFeature and FixedLenSequenceFeature by key.
      name: of the nodes, "ParseExample" if None.
      example_names: a string vector: names for messages of errors.

    Raises ValueError where a feature is none.
    """
    return parse_example_v2(serialized, features, example_names, name)


def parse_example_v2(serialized, features, example_names=None, name=None):
    if not features:
        raise ValueError("Missing: features was %s." % features)
    wanted = _with_any_length_first(features)
    raw = _Features(wanted, _EXAMPLE_KINDS)
    outputs = _parse_batch(serialized, example_names, raw, name)
    return _construct_sparse_tensors_for_sparse_features(wanted, outputs)


def _parse_batch(serialized, names, raw, name):
    with ops.name_scope(name, "ParseExample", [serialized, names]):
        names = [] if names is None else names
        shapes = raw.variable_shapes()
        parsed = gen_parsing_ops.parse_example(
            serialized=serialized,
            names=names,
            dense_defaults=raw.defaults(shapes),
            sparse_keys=raw.sparse_keys,
            sparse_types=raw.sparse_types,
            dense_keys=raw.dense_keys,
            dense_shapes=shapes,
            name=name,
        )
        return raw.found(*parsed)


def _parse_example_raw(
    serialized,
    names=None,
    sparse_keys=None,
    sparse_types=None,
    dense_keys=None,
    dense_types=None,
    dense_defaults=None,
    dense_shapes=None,
    name=None,
):
    """As `parse_example`, from lists of keys, types and shapes."""
    raw = _Features({}, ())
    raw.sparse_keys, raw.sparse_types = list(sparse_keys or []), list(sparse_types or [])
    raw.dense_keys, raw.dense_types = list(dense_keys or []), list(dense_types or [])
    raw.dense_shapes = list(dense_shapes if dense_shapes is not None else [[]] * len(raw.dense_keys))
    raw.dense_defaults = dict(dense_defaults or {})
    for what, count in (("dense_shapes", raw.dense_shapes), ("dense_types", raw.dense_types)):
        if len(count) != len(raw.dense_keys):
            raise ValueError(f"len({what}) != len(dense_keys): {len(count)} vs. {len(raw.dense_keys)}")
    if len(raw.sparse_types) != len(raw.sparse_keys):
        raise ValueError(
            f"len(sparse_keys) != len(sparse_types): {len(raw.sparse_keys)} vs. {len(raw.sparse_types)}"
        )
    if set(raw.dense_keys) & set(raw.sparse_keys):
        raise ValueError("Dense and sparse keys must not intersect")
    return _parse_batch(serialized, names, raw, name)


@tf_export(v1=["io.parse_single_example", "parse_single_example"])
def parse_single_example(serialized, features, name=None, example_names=None):
    """As `parse_example`, of one message, a string scalar: the results have no dimension for the batch."""
    return parse_single_example_v2_unoptimized(serialized, features, example_names, name)


def parse_single_example_v2_unoptimized(serialized, features, example_names=None, name=None):
    del example_names  # the node's errors name the node
    return parse_single_example_v2(serialized, features, name)


def parse_single_example_v2(serialized, features, name=None):
    """As `parse_single_example`, by one node."""
    if not features:
        raise ValueError("Missing features.")
    wanted = _with_any_length_first(features)
    raw = _Features(wanted, _EXAMPLE_KINDS)
    with ops.name_scope(name, "ParseSingleExample", [serialized]):
        shapes = raw.variable_shapes()
        parsed = gen_parsing_ops.parse_single_example(
            serialized=serialized,
            dense_defaults=raw.defaults(shapes),
            num_sparse=len(raw.sparse_keys),
            sparse_keys=raw.sparse_keys,
            sparse_types=raw.sparse_types,
            dense_keys=raw.dense_keys,
            dense_shapes=shapes,
            name=name,
        )
        return _construct_sparse_tensors_for_sparse_features(wanted, raw.found(*parsed))


def _assert_scalar(value, name):
    """`value`, a scalar; a check at run time where its rank is not known."""
    if value.get_shape().ndims is None:
        check = control_flow_ops.Assert(
            math_ops.equal(array_ops.rank(value), 0),
            ["Input %s must be a scalar" % name],
            name="%sIsScalar" % name.capitalize(),
        )
        return control_flow_ops.with_dependencies([check], value, name="%sDependencies" % name)
    if value.get_shape().ndims:
        raise ValueError("Input %s must be a scalar" % name)
    return value


# ---- SequenceExamples ----

_CONTEXT_KINDS = (VarLenFeature, FixedLenFeature)
_SEQUENCE_KINDS = (VarLenFeature, FixedLenSequenceFeature)


def _sequence_features(context_features, sequence_features):
    """Both dicts as arguments, and the keys of sequences that may be missing."""
    if not (context_features or sequence_features):
        raise ValueError("Missing features.")
    context = _Features(context_features, _CONTEXT_KINDS)
    sequences = _Features(sequence_features, _SEQUENCE_KINDS)
    missing = []
    for key in sequences.dense_keys:
        if sequences.dense_defaults.get(key) is not None:
            raise ValueError(
                f"Value feature_list_dense_defaults[{key}] must be None, which is to allow missing lists"
            )
        if key in sequences.dense_defaults:
            missing.append(key)
    return context, sequences, missing


@tf_export(
    "io.parse_single_sequence_example",
    v1=["io.parse_single_sequence_example", "parse_single_sequence_example"],
)
def parse_single_sequence_example(
    serialized, context_features=None, sequence_features=None, example_name=None, name=None
):
    """(context, sequences) of a serialized SequenceExample, as dicts of tensors and SparseTensors.

    Args:
      serialized: a string scalar.
      context_features: FixedLenFeature and VarLenFeature by key.
      sequence_features: FixedLenSequenceFeature and VarLenFeature by key.
      example_name: a string scalar for messages of errors.
      name: of the nodes, "ParseSingleSequenceExample" if None.
    """
    context, sequences, missing = _sequence_features(context_features, sequence_features)
    with ops.name_scope(name, "ParseSingleSequenceExample", [serialized, example_name]):
        serialized = ops.convert_to_tensor(serialized, name="serialized")
        serialized = _assert_scalar(serialized, "serialized")
        shapes = context.variable_shapes()
        parsed = gen_parsing_ops.parse_single_sequence_example(
            serialized=serialized,
            debug_name="" if example_name is None else example_name,
            context_dense_defaults=context.defaults(shapes),
            context_sparse_keys=context.sparse_keys,
            context_sparse_types=context.sparse_types,
            context_dense_keys=context.dense_keys,
            context_dense_shapes=shapes,
            feature_list_sparse_keys=sequences.sparse_keys,
            feature_list_sparse_types=sequences.sparse_types,
            feature_list_dense_keys=sequences.dense_keys,
            feature_list_dense_types=sequences.dense_types,
            feature_list_dense_shapes=sequences.variable_shapes(),
            feature_list_dense_missing_assumed_empty=missing,
            name=name,
        )
        return context.found(*parsed[:4]), sequences.found(*parsed[4:8])


@tf_export("io.parse_sequence_example")
def parse_sequence_example(
    serialized, context_features=None, sequence_features=None, example_names=None, name=None
):
    """(context, sequences, lengths) of a batch of serialized SequenceExamples, a string vector.

    Dense sequences are padded to the longest of the batch; `lengths` are by key. Features as in
    `parse_single_sequence_example`.
    """
    context, sequences, missing = _sequence_features(context_features, sequence_features)
    with ops.name_scope(name, "ParseSequenceExample", [serialized, example_names]):
        shapes = context.variable_shapes()
        parsed = gen_parsing_ops.parse_sequence_example(
            serialized=serialized,
            debug_name=[] if example_names is None else example_names,
            Ncontext_sparse=len(context.sparse_keys),
            Ncontext_dense=len(context.dense_keys),
            Nfeature_list_sparse=len(sequences.sparse_keys),
            Nfeature_list_dense=len(sequences.dense_keys),
            context_dense_defaults=context.defaults(shapes),
            context_sparse_keys=context.sparse_keys,
            context_sparse_types=context.sparse_types,
            context_dense_keys=context.dense_keys,
            context_dense_shapes=shapes,
            feature_list_sparse_keys=sequences.sparse_keys,
            feature_list_sparse_types=sequences.sparse_types,
            feature_list_dense_keys=sequences.dense_keys,
            feature_list_dense_types=sequences.dense_types,
            feature_list_dense_shapes=sequences.variable_shapes(),
            feature_list_dense_missing_assumed_empty=missing,
            name=name,
        )
        lengths = dict(zip(sequences.dense_keys, parsed[8]))
        return context.found(*parsed[:4]), sequences.found(*parsed[4:8]), lengths


# ---- Bytes and lines ----


@tf_export(v1=["decode_raw", "io.decode_raw"])
def decode_raw_v1(input_bytes=None, out_type=None, little_endian=True, name=None, bytes=None):  # noqa: A002
    """The bytes of strings as numbers of type `out_type`, along a new last dimension.

    bytes: a former name of input_bytes.
    """
    if input_bytes is None:
        input_bytes = bytes
    elif bytes is not None:
        raise ValueError("Cannot specify both 'bytes' and 'input_bytes'")
    if out_type is None:
        raise ValueError("decode_raw_v1() missing 1 positional argument: 'out_type'")
    return gen_parsing_ops.decode_raw(input_bytes, out_type, little_endian, name)


def decode_raw(input_bytes, out_type, little_endian=True, fixed_length=None, name=None):
    """`decode_raw` as TensorFlow 2 has it. fixed_length: strings are cut, or filled with zeros, to so many
    bytes."""
    if fixed_length is not None:
        return gen_parsing_ops.decode_padded_raw(
            input_bytes, fixed_length=fixed_length, out_type=out_type, little_endian=little_endian, name=name
        )
    return gen_parsing_ops.decode_raw(input_bytes, out_type, little_endian=little_endian, name=name)


@tf_export(v1=["decode_csv", "io.decode_csv"])
def decode_csv(
    records,
    record_defaults,
    field_delim=",",
    use_quote_delim=True,
    name=None,
    na_value="",
    select_cols=None,
):
    """The fields of lines of comma-separated values: a list of a tensor for each column.

    Args:
      records: strings, a line each.
      record_defaults: for each column a tensor of one element, or an empty one where the field must be there.
      field_delim: the separator.
      use_quote_delim: whether "..." quotes.
      name: of the nodes.
      na_value: what stands for a field that is not there.
      select_cols: the ascending numbers of the columns to be taken; all if None.
    """
    if select_cols is not None and any(
        select_cols[i] >= select_cols[i + 1] for i in range(len(select_cols) - 1)
    ):
        raise ValueError("select_cols is not strictly increasing.")
    if select_cols is not None and select_cols[0] < 0:
        raise ValueError("select_cols contains negative values.")
    if select_cols is not None and len(select_cols) != len(record_defaults):
        raise ValueError("Length of select_cols and record_defaults do not match.")
    return gen_parsing_ops.decode_csv(
        records=records,
        record_defaults=record_defaults,
        field_delim=field_delim,
        use_quote_delim=use_quote_delim,
        na_value=na_value,
        name=name,
        select_cols=select_cols,
    )


def decode_csv_v2(
    records,
    record_defaults,
    field_delim=",",
    use_quote_delim=True,
    na_value="",
    select_cols=None,
    name=None,
):
    return decode_csv(records, record_defaults, field_delim, use_quote_delim, name, na_value, select_cols)


def __getattr__(name):
    """The functions of gen_parsing_ops, which TensorFlow's module of this name has too."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(gen_parsing_ops, name)
