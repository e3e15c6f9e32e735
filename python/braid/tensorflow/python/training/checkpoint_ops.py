"""Matrices of a checkpoint whose rows or columns belong to words, in the order of another vocabulary.

A file of a vocabulary has a word in each line. GenerateVocabRemapping tells for each word of the new file
where the old one has it; LoadAndRemapMatrix reads the rows and columns in that order, and takes what the old
matrix lacks from an initializer.
"""

import math

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_checkpoint_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import math_ops


def _load_and_remap_matrix(
    ckpt_path,
    old_tensor_name,
    new_row_vocab_offset,
    num_rows_to_load,
    new_col_vocab_size,
    initializer,
    old_row_vocab_size=-1,
    old_row_vocab_file=None,
    new_row_vocab_file=None,
    old_col_vocab_file=None,
    new_col_vocab_file=None,
    num_row_oov_buckets=0,
    num_col_oov_buckets=0,
    max_rows_in_memory=-1,
):
    """A tensor [num_rows_to_load + num_row_oov_buckets, new_col_vocab_size + num_col_oov_buckets].

    new_row_vocab_offset: the line of the new file that the first row belongs to. old_row_vocab_size: how many
    lines of the old file count, -1 for all. Without the two files of an axis its order stays. initializer: a
    function of a shape, for words that are new and for the buckets, which come last. max_rows_in_memory: how
    many rows are read at a time, all if not positive.
    """
    for axis, buckets in (("row", num_row_oov_buckets), ("col", num_col_oov_buckets)):
        if buckets < 0:
            raise ValueError(f"num_{axis}_oov_buckets must be >= 0, but received {buckets}")
    for axis, old, new in (
        ("row", old_row_vocab_file, new_row_vocab_file),
        ("col", old_col_vocab_file, new_col_vocab_file),
    ):
        if _is_given(old) != _is_given(new):
            raise ValueError(
                f"old_{axis}_vocab_file and new_{axis}_vocab_file must both be specified or left unspecified. "
                f"old_{axis}_vocab_file='{old}', new_{axis}_vocab_file='{new}'"
            )
    if not _is_given(new_row_vocab_file) and not _is_given(new_col_vocab_file):
        raise ValueError(
            "Must provide either row or column vocab files. If no remapping is necessary, consider using "
            "`tf.contrib.framework.init_from_checkpoint` instead."
        )
    rows_present, columns_present = num_rows_to_load, new_col_vocab_size
    if _is_given(new_row_vocab_file):
        rows, rows_present = gen_checkpoint_ops.generate_vocab_remapping(
            new_vocab_file=new_row_vocab_file,
            old_vocab_file=old_row_vocab_file,
            new_vocab_offset=new_row_vocab_offset,
            num_new_vocab=num_rows_to_load,
            old_vocab_size=old_row_vocab_size,
        )
    else:
        rows = math_ops.range(
            new_row_vocab_offset, new_row_vocab_offset + num_rows_to_load, dtype=dtypes.int64
        )
    columns = []
    if _is_given(new_col_vocab_file):
        columns, columns_present = gen_checkpoint_ops.generate_vocab_remapping(
            new_vocab_file=new_col_vocab_file,
            old_vocab_file=old_col_vocab_file,
            new_vocab_offset=0,
            num_new_vocab=new_col_vocab_size,
        )
    missing = num_rows_to_load * new_col_vocab_size - rows_present * columns_present
    matrix = gen_checkpoint_ops.load_and_remap_matrix(
        ckpt_path=ckpt_path,
        old_tensor_name=old_tensor_name,
        row_remapping=rows,
        col_remapping=columns,
        initializing_values=initializer([missing, 1]),
        num_rows=num_rows_to_load,
        num_cols=new_col_vocab_size,
        max_rows_in_memory=max_rows_in_memory,
    )
    if num_row_oov_buckets > 0:
        added = ops.convert_to_tensor(initializer([num_row_oov_buckets, new_col_vocab_size]))
        matrix = array_ops.concat([matrix, added], 0)
    if num_col_oov_buckets > 0:
        added = ops.convert_to_tensor(
            initializer([num_rows_to_load + num_row_oov_buckets, num_col_oov_buckets])
        )
        matrix = array_ops.concat([matrix, added], 1)
    return matrix


def _is_given(file):
    return isinstance(file, ops.Tensor) or bool(file)


def _load_and_remap_matrix_initializer(
    ckpt_path,
    old_tensor_name,
    new_row_vocab_size,
    new_col_vocab_size,
    old_row_vocab_size=-1,
    old_row_vocab_file=None,
    new_row_vocab_file=None,
    old_col_vocab_file=None,
    new_col_vocab_file=None,
    num_row_oov_buckets=0,
    num_col_oov_buckets=0,
    initializer=None,
    max_rows_in_memory=-1,
):
    """An initializer for a variable [new_row_vocab_size + num_row_oov_buckets, new_col_vocab_size +
    num_col_oov_buckets], which may be divided along its rows. See _load_and_remap_matrix.

    initializer: zeros if None.
    """
    if initializer is None:
        initializer = init_ops.zeros_initializer()
    if not callable(initializer):
        raise TypeError(
            f"initializer must be callable, instead of being {initializer} of type {type(initializer)}."
        )

    def load(shape, dtype=dtypes.float32, partition_info=None):
        if dtype != dtypes.float32:
            raise TypeError(f"Currently, only float32 is supported. Received dtype: {dtype}")
        shape = [int(d) for d in shape]
        if len(shape) != 2:
            raise ValueError(f"Expected 2-dim shape, but received: {shape}")
        if shape[0] <= 0:
            raise ValueError(f"Expected 1st dim of shape to be > 0, but received shape: {shape}")
        if shape[1] != new_col_vocab_size + num_col_oov_buckets:
            raise ValueError(
                f"Expected 2nd dim of shape to be new_col_vocab_size ({new_col_vocab_size}) + "
                f"num_col_oov_buckets ({num_col_oov_buckets}) = {new_col_vocab_size + num_col_oov_buckets}, but "
                f"received shape: {shape}"
            )
        first = 0 if partition_info is None else partition_info.single_offset(shape)
        end = first + shape[0]
        if end > new_row_vocab_size + num_row_oov_buckets:
            raise ValueError(
                f"Trying to initialize {shape[0]} additional rows after {first} rows have already been initialized, "
                f"which would exceed expected total row count of new_row_vocab_size ({new_row_vocab_size}) + "
                f"num_row_oov_buckets ({num_row_oov_buckets}) = {new_row_vocab_size + num_row_oov_buckets}."
            )
        if first > new_row_vocab_size:  # the part has rows of buckets only
            return initializer(shape)
        buckets = min(shape[0], max(0, end - new_row_vocab_size))
        return _load_and_remap_matrix(
            ckpt_path=ckpt_path,
            old_tensor_name=old_tensor_name,
            new_row_vocab_offset=first,
            num_rows_to_load=shape[0] - buckets,
            new_col_vocab_size=new_col_vocab_size,
            initializer=initializer,
            old_row_vocab_size=old_row_vocab_size,
            old_row_vocab_file=old_row_vocab_file,
            new_row_vocab_file=new_row_vocab_file,
            old_col_vocab_file=old_col_vocab_file,
            new_col_vocab_file=new_col_vocab_file,
            num_row_oov_buckets=buckets,
            num_col_oov_buckets=num_col_oov_buckets,
            max_rows_in_memory=max_rows_in_memory,
        )

    return load


def _load_embedding_initializer(
    ckpt_path,
    embedding_tensor_name,
    new_vocab_size,
    embedding_dim,
    old_vocab_file,
    new_vocab_file,
    old_vocab_size=-1,
    num_oov_buckets=0,
    initializer=None,
    max_rows_in_memory=-1,
):
    """An initializer for an embedding [new_vocab_size + num_oov_buckets, embedding_dim] from the one of a
    checkpoint. See _load_and_remap_matrix.

    initializer: a truncated normal of deviation 1/sqrt(embedding_dim) if None.
    """
    if initializer is None:
        initializer = init_ops.truncated_normal_initializer(stddev=1.0 / math.sqrt(embedding_dim))
    return _load_and_remap_matrix_initializer(
        ckpt_path=ckpt_path,
        old_tensor_name=embedding_tensor_name,
        new_row_vocab_size=new_vocab_size,
        new_col_vocab_size=embedding_dim,
        old_row_vocab_size=old_vocab_size,
        old_row_vocab_file=old_vocab_file,
        new_row_vocab_file=new_vocab_file,
        num_row_oov_buckets=num_oov_buckets,
        initializer=initializer,
        max_rows_in_memory=max_rows_in_memory,
    )
