"""Strings as rows of bytes, characters and n-grams."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_string_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import string_ops
from braid.tensorflow.python.ops.ragged import ragged_tensor
from braid.tensorflow.python.ops.ragged.ragged_tensor import RaggedTensor
from braid.tensorflow.python.util.tf_export import tf_export


def _of_vectors(input, function):
    """function(vector), which returns RaggedTensors, for a scalar, a vector or ragged rows of strings."""
    input = ragged_tensor.convert_to_tensor_or_ragged_tensor(input, dtype=dtypes.string, name="input")
    if isinstance(input, RaggedTensor):
        made = function(input.flat_values)
        if isinstance(made, tuple):
            return tuple(input.with_flat_values(m) for m in made)
        return input.with_flat_values(made)
    rank = input.get_shape().ndims
    if rank == 1:
        return function(input)
    if rank == 0:
        made = function(array_ops.expand_dims(input, 0))
        return tuple(m.values for m in made) if isinstance(made, tuple) else made.values
    if rank is None:
        raise ValueError("Rank of `input` must be statically known.")
    return _of_vectors(RaggedTensor.from_tensor(input, ragged_rank=rank - 1), function)


def __getattr__(name):
    # TensorFlow has these here, too.
    if name not in ("string_split", "strings_split_v1"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from braid.tensorflow.python.ops import string_ops

    return getattr(string_ops, name)


@tf_export("strings.bytes_split")
def string_bytes_split(input, name=None):
    """The bytes of each string, as one more dimension that is ragged."""
    with ops.name_scope(name, "StringsByteSplit", [input]):

        def split(strings):
            indices, values, shape = gen_string_ops.string_split(strings, delimiter="", skip_empty=False)
            return RaggedTensor.from_value_rowids(values, indices[:, 0], shape[0])

        return _of_vectors(input, split)


@tf_export("strings.unicode_decode")
def unicode_decode(
    input,
    input_encoding,
    errors="replace",
    replacement_char=0xFFFD,
    replace_control_characters=False,
    name=None,
):
    """The code points of each string, int32, as one more dimension that is ragged."""
    with ops.name_scope(name, "UnicodeDecode", [input]):

        def decode(strings):
            splits, codes = gen_string_ops.unicode_decode(
                strings,
                input_encoding=input_encoding,
                errors=errors,
                replacement_char=replacement_char,
                replace_control_characters=replace_control_characters,
            )
            return RaggedTensor.from_row_splits(codes, splits)

        return _of_vectors(input, decode)


@tf_export("strings.unicode_decode_with_offsets")
def unicode_decode_with_offsets(
    input,
    input_encoding,
    errors="replace",
    replacement_char=0xFFFD,
    replace_control_characters=False,
    name=None,
):
    """(code points, the byte at which each begins), as one more dimension that is ragged."""
    with ops.name_scope(name, "UnicodeDecodeWithOffsets", [input]):

        def decode(strings):
            splits, codes, offsets = gen_string_ops.unicode_decode_with_offsets(
                strings,
                input_encoding=input_encoding,
                errors=errors,
                replacement_char=replacement_char,
                replace_control_characters=replace_control_characters,
            )
            return RaggedTensor.from_row_splits(codes, splits), RaggedTensor.from_row_splits(offsets, splits)

        return _of_vectors(input, decode)


@tf_export("strings.unicode_encode")
def unicode_encode(input, output_encoding, errors="replace", replacement_char=65533, name=None):
    """Strings from code points, which lie in the last dimension of a tensor or a RaggedTensor."""
    with ops.name_scope(name, "UnicodeEncode", [input]):
        input = ragged_tensor.convert_to_tensor_or_ragged_tensor(input)
        if isinstance(input, RaggedTensor):
            if input.values.shape.ndims is None or input.values.shape.ndims > 1:
                inner = unicode_encode(input.values, output_encoding, errors, replacement_char)
                return input.with_values(inner)
            values, splits = input.values, input.row_splits
        elif input.get_shape().ndims is None:
            raise ValueError("unicode_encode: the rank of input must be known")
        elif input.get_shape().ndims == 1:
            values = input
            splits = array_ops.stack([0, array_ops.shape(input, out_type=dtypes.int64)[0]])
        else:
            shape = array_ops.shape(input)
            rows = RaggedTensor.from_tensor(array_ops.reshape(input, [-1, shape[-1]]))
            flat = unicode_encode(rows, output_encoding, errors, replacement_char)
            return array_ops.reshape(flat, shape[:-1])
        made = gen_string_ops.unicode_encode(
            input_values=math_ops.cast(values, dtypes.int32),
            input_splits=splits,
            output_encoding=output_encoding,
            errors=errors,
            replacement_char=replacement_char,
        )
        return made if isinstance(input, RaggedTensor) else array_ops.reshape(made, [])


@tf_export("strings.unicode_split")
def unicode_split(input, input_encoding, errors="replace", replacement_char=0xFFFD, name=None):
    """The characters of each string, as strings, as one more dimension that is ragged."""
    with ops.name_scope(name, "UnicodeSplit", [input]):
        codes = unicode_decode(input, input_encoding, errors, replacement_char)
        return _characters(codes, input_encoding, errors, replacement_char)


@tf_export("strings.unicode_split_with_offsets")
def unicode_split_with_offsets(input, input_encoding, errors="replace", replacement_char=0xFFFD, name=None):
    """(characters, the byte at which each begins), as one more dimension that is ragged."""
    with ops.name_scope(name, "UnicodeSplitWithOffsets", [input]):
        codes, offsets = unicode_decode_with_offsets(input, input_encoding, errors, replacement_char)
        return _characters(codes, input_encoding, errors, replacement_char), offsets


def _characters(codes, encoding, errors, replacement_char):
    flat = codes.flat_values if isinstance(codes, RaggedTensor) else codes
    made = unicode_encode(array_ops.expand_dims(flat, -1), encoding, errors, replacement_char)
    return codes.with_flat_values(made) if isinstance(codes, RaggedTensor) else made


@tf_export("strings.ngrams")
def ngrams(
    data,
    ngram_width,
    separator=" ",
    pad_values=None,
    padding_width=None,
    preserve_short_sequences=False,
    name=None,
):
    """The n-grams of each row of strings, of one width or several.

    pad_values: a string, or (left, right), that stands before and after rows, padding_width times (by default
    so often that each string is in each place of an n-gram). preserve_short_sequences: a row that is too
    short is one n-gram. The n-grams of a Tensor are a Tensor: each of its rows has as many.
    """
    with ops.name_scope(name, "StringNGrams", [data]):
        left, right = _paddings(pad_values, padding_width)
        widths = list(ngram_width) if isinstance(ngram_width, (list, tuple)) else [ngram_width]
        if any(w < 1 for w in widths):
            raise ValueError("All ngram_widths must be greater than 0. Got %s" % (ngram_width,))
        data = ragged_tensor.convert_to_tensor_or_ragged_tensor(data, dtype=dtypes.string, name="data")
        shape = None
        if not isinstance(data, RaggedTensor):
            rank = data.shape.ndims
            if rank is None:
                raise ValueError("Rank of data must be known.")
            if rank == 0:
                raise ValueError("Data must have rank>0")
            shape = array_ops.concat([array_ops.shape(data)[:-1], [-1]], axis=0)
            # A vector is one row; each vector of a higher rank is a row.
            data = array_ops.expand_dims(data, 0) if rank == 1 else data
            data = RaggedTensor.from_tensor(data, ragged_rank=max(rank, 2) - 1)
        width = 0 if pad_values is None else -1 if padding_width is None else padding_width
        rows = data.nested_row_splits
        made, splits = gen_string_ops.string_n_grams(
            data=data.flat_values,
            data_splits=rows[-1],
            separator=separator,
            ngram_widths=widths,
            left_pad=left,
            right_pad=right,
            pad_width=width,
            preserve_short_sequences=preserve_short_sequences,
        )
        if shape is not None:
            return array_ops.reshape(made, shape)
        return RaggedTensor.from_nested_row_splits(made, [*rows[:-1], splits], validate=False)


def _paddings(pad_values, padding_width):
    """(left, right): the strings that ngrams() puts before and after rows."""
    if padding_width is not None and padding_width < 1:
        raise ValueError("padding_width must be greater than 0.")
    if pad_values is None:
        if padding_width is not None:
            raise ValueError("pad_values must be provided if padding_width is set.")
        return "", ""
    pair = pad_values if isinstance(pad_values, (list, tuple)) else (pad_values, pad_values)
    if not all(isinstance(value, (str, bytes)) for value in pair[:2]):
        raise TypeError("pad_values must be a string, tuple of strings, or None.")
    return pair[0], pair[1]


def string_split_v2(input, sep=None, maxsplit=-1, name=None):
    """The parts of each string, as one more dimension that is ragged:
    tf.strings.split(result_type="RaggedTensor")."""
    with ops.name_scope(name, "StringSplit", [input]):

        def split(strings):
            parts = string_ops.string_split_v2(strings, sep=sep, maxsplit=maxsplit)
            return RaggedTensor.from_value_rowids(parts.values, parts.indices[:, 0], parts.dense_shape[0])

        return _of_vectors(input, split)


def reduce_join(inputs, axis=None, keepdims=None, separator="", name=None):
    """tf.strings.reduce_join of ragged strings."""
    from braid.tensorflow.python.ops.ragged import ragged_dispatch

    return ragged_dispatch.reduce_join(inputs, axis, separator=separator, keepdims=keepdims, name=name)
