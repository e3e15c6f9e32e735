"""tf.contrib.framework: initializers from matrices of a checkpoint with another vocabulary."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.training import checkpoint_ops

__all__ = (
    "load_and_remap_matrix_initializer",
    "load_embedding_initializer",
    "load_linear_multiclass_bias_initializer",
    "load_variable_slot_initializer",
)

load_and_remap_matrix_initializer = checkpoint_ops._load_and_remap_matrix_initializer
load_embedding_initializer = checkpoint_ops._load_embedding_initializer


def load_linear_multiclass_bias_initializer(
    ckpt_path,
    bias_tensor_name,
    new_class_vocab_size,
    old_class_vocab_file,
    new_class_vocab_file,
    num_class_oov_buckets=0,
    initializer=None,
    max_rows_in_memory=-1,
):
    """An initializer for a bias [classes, 1] from the one of a checkpoint, whose classes had another order.

    initializer: for new classes; zeros if None.
    """
    return load_and_remap_matrix_initializer(
        ckpt_path=ckpt_path,
        old_tensor_name=bias_tensor_name,
        new_row_vocab_size=new_class_vocab_size,
        new_col_vocab_size=1,
        old_row_vocab_file=old_class_vocab_file,
        new_row_vocab_file=new_class_vocab_file,
        num_row_oov_buckets=num_class_oov_buckets,
        initializer=initializer,
        max_rows_in_memory=max_rows_in_memory,
    )


def load_variable_slot_initializer(
    ckpt_path,
    old_tensor_name,
    primary_partition_info,
    new_row_vocab_size,
    new_col_vocab_size,
    old_row_vocab_file=None,
    new_row_vocab_file=None,
    old_col_vocab_file=None,
    new_col_vocab_file=None,
    num_row_oov_buckets=0,
    num_col_oov_buckets=0,
    initializer=None,
    max_rows_in_memory=-1,
):
    """load_and_remap_matrix_initializer for a slot, whose partition is primary_partition_info, its
    variable's."""
    of_matrix = load_and_remap_matrix_initializer(
        ckpt_path=ckpt_path,
        old_tensor_name=old_tensor_name,
        new_row_vocab_size=new_row_vocab_size,
        new_col_vocab_size=new_col_vocab_size,
        old_row_vocab_file=old_row_vocab_file,
        new_row_vocab_file=new_row_vocab_file,
        old_col_vocab_file=old_col_vocab_file,
        new_col_vocab_file=new_col_vocab_file,
        num_row_oov_buckets=num_row_oov_buckets,
        num_col_oov_buckets=num_col_oov_buckets,
        initializer=initializer,
        max_rows_in_memory=max_rows_in_memory,
    )

    def of_slot(shape, dtype=dtypes.float32, partition_info=None):
        return of_matrix(shape, dtype, partition_info=primary_partition_info)

    return of_slot
