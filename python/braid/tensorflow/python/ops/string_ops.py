"""Operations on strings."""

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_parsing_ops
from braid.tensorflow.python.ops import gen_string_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util import deprecation
from braid.tensorflow.python.util import dispatch
from braid.tensorflow.python.util.tf_export import tf_export


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(gen_string_ops, name)


# ---- Regular expressions ----


@tf_export("strings.regex_full_match")
@dispatch.elementwise
def regex_full_match(input, pattern, name=None):
    """Whether each whole string matches a regular expression (of RE2)."""
    if isinstance(pattern, (str, bytes)):
        return gen_string_ops.static_regex_full_match(input=input, pattern=pattern, name=name)
    return gen_string_ops.regex_full_match(input=input, pattern=pattern, name=name)


@tf_export("strings.regex_replace", v1=["strings.regex_replace", "regex_replace"])
@dispatch.elementwise
def regex_replace(input, pattern, rewrite, replace_global=True, name=None):
    """Replaces what matches a regular expression (of RE2) by `rewrite`, in which \\1 is the first group."""
    if isinstance(pattern, (str, bytes)) and isinstance(rewrite, (str, bytes)):
        return gen_string_ops.static_regex_replace(
            input=input, pattern=pattern, rewrite=rewrite, replace_global=replace_global, name=name
        )
    return gen_string_ops.regex_replace(
        input=input, pattern=pattern, rewrite=rewrite, replace_global=replace_global, name=name
    )


# ---- Joining and splitting ----


@tf_export("strings.format")
def string_format(template, inputs, placeholder="{}", summarize=3, name=None):
    """The template with its placeholders replaced by tensors; `summarize` elements at each end are shown."""
    inputs = [inputs] if tensor_util.is_tensor(inputs) else inputs
    if template.count(placeholder) != len(inputs):
        raise ValueError(
            "%s placeholder(s) in template does not match %s tensor(s) provided as input"
            % (template.count(placeholder), len(inputs))
        )
    return gen_string_ops.string_format(
        inputs, template=template, placeholder=placeholder, summarize=summarize, name=name
    )


@tf_export("strings.join", v1=["strings.join", "string_join"])
@dispatch.elementwise
def string_join(inputs, separator="", name=None):
    """Joins the strings of several tensors, element by element; scalars are broadcast."""
    return gen_string_ops.string_join(inputs, separator=separator, name=name)


@dispatch.or_ragged
def reduce_join_v2(inputs, axis=None, keepdims=False, separator="", name=None):
    with ops.name_scope(None, "ReduceJoin", [inputs, axis]):
        inputs = ops.convert_to_tensor(inputs)
        if axis is None and inputs.get_shape().ndims is not None:
            axis = constant_op.constant(list(reversed(range(inputs.get_shape().ndims))), dtypes.int32)
        elif axis is None:
            axis = math_ops.range(array_ops.rank(inputs) - 1, -1, -1)
        return gen_string_ops.reduce_join(
            inputs=inputs, reduction_indices=axis, keep_dims=keepdims, separator=separator, name=name
        )


@tf_export(v1=["strings.reduce_join", "reduce_join"])
@dispatch.or_ragged
def reduce_join(
    inputs,
    axis=None,
    keep_dims=None,
    separator="",
    name=None,
    reduction_indices=None,
    keepdims=None,
):
    """Joins the strings along the dimensions of `axis`, in this order."""
    keepdims = deprecation.deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims)
    axis = deprecation.deprecated_argument_lookup("axis", axis, "reduction_indices", reduction_indices)
    return reduce_join_v2(inputs, axis, bool(keepdims), separator, name)


def _ragged_split(source, sep, maxsplit, name):
    from braid.tensorflow.python.ops.ragged import ragged_string_ops  # which takes functions from here

    return ragged_string_ops.string_split_v2(source, sep, maxsplit, name)


@tf_export(v1=["string_split"])
def string_split(source, sep=None, skip_empty=True, delimiter=None, result_type="SparseTensor", name=None):
    """Splits each string of a vector at the characters of the delimiter, into rows of a SparseTensor.

    The delimiter is " " by default; an empty one splits into bytes. skip_empty: empty parts are left out.
    """
    delimiter = deprecation.deprecated_argument_lookup("sep", sep, "delimiter", delimiter)
    if result_type == "RaggedTensor":
        raise NotImplementedError("tf.string_split: tf.strings.split makes RaggedTensors")
    if result_type != "SparseTensor":
        raise ValueError("result_type must be 'RaggedTensor' or 'SparseTensor'.")
    with ops.name_scope(name, "StringSplit", [source]):
        delimiter = ops.convert_to_tensor(" " if delimiter is None else delimiter, dtype=dtypes.string)
        source = ops.convert_to_tensor(source, dtype=dtypes.string)
        return _rows(gen_string_ops.string_split(source, delimiter=delimiter, skip_empty=skip_empty))


def _rows(parts):
    indices, values, shape = parts
    indices.set_shape([None, 2])
    values.set_shape([None])
    shape.set_shape([2])
    return sparse_tensor.SparseTensor(indices, values, shape)


def _split(source, sep, maxsplit):
    sep = ops.convert_to_tensor("" if sep is None else sep, dtype=dtypes.string)
    return _rows(gen_string_ops.string_split_v2(source, sep=sep, maxsplit=maxsplit))


def string_split_v2(source, sep=None, maxsplit=-1):
    with ops.name_scope(None, "StringSplit", [source]):
        return _split(ops.convert_to_tensor(source, dtype=dtypes.string), sep, maxsplit)


@tf_export(v1=["strings.split"])
def strings_split_v1(input=None, sep=None, maxsplit=-1, result_type="SparseTensor", source=None, name=None):
    """Splits each string of a vector at a separator (white space by default), into rows of a SparseTensor.

    maxsplit: how many times at most; -1: any number.
    """
    input = deprecation.deprecated_argument_lookup("input", input, "source", source)
    if result_type == "RaggedTensor":
        return _ragged_split(input, sep, maxsplit, name)
    if result_type != "SparseTensor":
        raise ValueError("result_type must be 'RaggedTensor' or 'SparseTensor'.")
    with ops.name_scope(name, "StringSplit", [input]):
        input = ops.convert_to_tensor(input, dtype=dtypes.string, name="input")
        if input.get_shape().ndims == 0:
            input = array_ops.expand_dims(input, 0)
        return _split(input, sep, maxsplit)


@tf_export("strings.unsorted_segment_join")
def unsorted_segment_join(inputs, segment_ids, num_segments, separator="", name=None):
    """Joins the strings of each segment."""
    return gen_string_ops.unsorted_segment_join(
        inputs=inputs, segment_ids=segment_ids, num_segments=num_segments, separator=separator, name=name
    )


# ---- Numbers and parts ----


@tf_export(v1=["strings.length"])
@dispatch.elementwise
def string_length(input, name=None, unit="BYTE"):
    """The length of each string, in bytes ("BYTE") or in characters of UTF-8 ("UTF8_CHAR")."""
    return gen_string_ops.string_length(input, unit=unit, name=name)


def string_length_v2(input, unit="BYTE", name=None):
    return gen_string_ops.string_length(input, unit=unit, name=name)


@tf_export(v1=["substr"])
@dispatch.elementwise
def substr_deprecated(input, pos, len, name=None, unit="BYTE"):
    """The part of each string that begins at `pos` (from the end, if negative) and is `len` long at most."""
    return substr(input, pos, len, name=name, unit=unit)


@tf_export(v1=["strings.substr"])
@dispatch.elementwise
def substr(input, pos, len, name=None, unit="BYTE"):
    """The part of each string that begins at `pos` (from the end, if negative) and is `len` long at most."""
    return gen_string_ops.substr(input, pos, len, unit=unit, name=name)


def substr_v2(input, pos, len, unit="BYTE", name=None):
    return gen_string_ops.substr(input, pos, len, unit=unit, name=name)


@tf_export(v1=["strings.to_number", "string_to_number"])
def string_to_number_v1(string_tensor=None, out_type=dtypes.float32, name=None, input=None):
    """The number in each string."""
    string_tensor = deprecation.deprecated_argument_lookup("input", input, "string_tensor", string_tensor)
    return gen_parsing_ops.string_to_number(string_tensor, out_type, name)


@dispatch.elementwise
def string_to_number(input, out_type=dtypes.float32, name=None):
    return gen_parsing_ops.string_to_number(input, out_type, name)


@tf_export(v1=["strings.to_hash_bucket", "string_to_hash_bucket"])
@dispatch.elementwise
def string_to_hash_bucket_v1(string_tensor=None, num_buckets=None, name=None, input=None):
    """A hash of each string, below `num_buckets`."""
    string_tensor = deprecation.deprecated_argument_lookup("input", input, "string_tensor", string_tensor)
    return gen_string_ops.string_to_hash_bucket(string_tensor, num_buckets, name)


@dispatch.elementwise
def string_to_hash_bucket(input, num_buckets, name=None):
    return gen_string_ops.string_to_hash_bucket(input, num_buckets, name)
