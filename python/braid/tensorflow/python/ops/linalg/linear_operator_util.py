"""What linear operators share: checks of their arguments, and solving with batches that are broadcast."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.module import module
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import linalg_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import variables


def is_ref(x):
    """Whether it may have another value later: a variable, or a module that stands for a tensor."""
    if isinstance(x, variables.Variable):
        return True
    return isinstance(x, module.Module) and hasattr(x, "dtype") and hasattr(x, "shape")


def convert_nonref_to_tensor(value, dtype=None, dtype_hint=None, name=None):
    """A tensor, or None. A variable stays one; TypeError: its type is not `dtype`."""
    if value is None:
        return None
    if not is_ref(value):
        return ops.convert_to_tensor(value, dtype=dtype, preferred_dtype=dtype_hint, name=name)
    if dtype is not None and base_dtype(dtype) != base_dtype(value.dtype):
        raise TypeError(
            f'Mutable type must be of dtype "{dtype_name(dtype)}" but is "{dtype_name(value.dtype)}".'
        )
    return value


def base_dtype(dtype):
    return dtypes.as_dtype(dtype).base_dtype


def dtype_name(dtype):
    return base_dtype(dtype).name


def assert_not_ref_type(x, arg_name):
    if is_ref(x):
        raise TypeError(f"Argument {arg_name} cannot be reference type. Found: {type(x)}")


def assert_no_entries_with_modulus_zero(x, message=None, name="assert_no_entries_with_modulus_zero"):
    with ops.name_scope(name, values=[x]):
        x = math_ops.abs(ops.convert_to_tensor(x, name="x"))
        return check_ops.assert_less(ops.convert_to_tensor(0, dtype=x.dtype), x, message=message)


def assert_zero_imag_part(x, message=None, name="assert_zero_imag_part"):
    with ops.name_scope(name, values=[x]):
        x = ops.convert_to_tensor(x, name="x")
        if not x.dtype.is_complex:
            return control_flow_ops.no_op()
        imaginary = math_ops.imag(x)
        return check_ops.assert_equal(ops.convert_to_tensor(0, imaginary.dtype), imaginary, message=message)


def assert_compatible_matrix_dimensions(operator, x):
    """An op that fails where operator and x cannot be multiplied."""
    return check_ops.assert_equal(
        array_ops.shape(x)[-2],
        operator.domain_dimension_tensor(),
        message="Dimensions are not compatible.  shape[-2] of argument to be the same as this operator",
    )


def assert_is_batch_matrix(tensor):
    check_rank(tensor, 2, "Expected [batch] matrix to have at least two dimensions.  Found: %s")


def check_rank(tensor, rank, message):
    """ValueError: the tensor is known to have fewer dimensions."""
    if tensor.shape.ndims is not None and tensor.shape.ndims < rank:
        raise ValueError(message % tensor)


def shape_tensor(shape, name=None):
    """A shape as a tensor, also the empty one."""
    empty = isinstance(shape, (tuple, list)) and not shape
    return ops.convert_to_tensor(shape, dtype=dtypes.int32 if empty else None, name=name)


def checked_size(size, name, rank, assert_proper):
    """(tensor, its value or None) of an argument that is a size, or a list of sizes (rank 1)."""
    assert_not_ref_type(size, name)
    tensor = shape_tensor(size, name=name)
    from braid.tensorflow.python.framework import tensor_util

    if not tensor.dtype.is_integer:
        raise TypeError(f"Argument {name} must be integer type.  Found: {tensor}")
    known = tensor_util.constant_value(tensor)
    if known is not None and known.ndim != rank:
        raise ValueError(f"Argument {name} must be a {rank}-D Tensor.  Found: {known}")
    if known is not None and (known < 0).any():
        raise ValueError(f"Argument {name} must be non-negative.  Found: {known}")
    if assert_proper:
        asserts = [
            check_ops.assert_rank(tensor, rank, message=f"Argument {name} must be a {rank}-D Tensor."),
            check_ops.assert_non_negative(tensor, message=f"Argument {name} must be non-negative."),
        ]
        tensor = control_flow_ops.with_dependencies(asserts, tensor)
    return tensor, known


def broadcast_matrix_batch_dims(batch_matrices, name=None):
    """The matrices with all dimensions but the last two broadcast against each other."""
    with ops.name_scope(name or "broadcast_matrix_batch_dims", values=batch_matrices):
        check_ops.assert_proper_iterable(batch_matrices)
        matrices = [ops.convert_to_tensor(matrix) for matrix in batch_matrices]
        for matrix in matrices:
            assert_is_batch_matrix(matrix)
        if len(matrices) < 2:
            return matrices
        known = matrices[0].shape[:-2]
        for matrix in matrices[1:]:
            known = array_ops.broadcast_static_shape(known, matrix.shape[:-2])
        if known.is_fully_defined():
            batch = known.as_list()
            if all(matrix.shape[:-2] == known for matrix in matrices):
                return matrices
        else:
            batch = array_ops.shape(matrices[0])[:-2]
            for matrix in matrices[1:]:
                batch = array_ops.broadcast_dynamic_shape(batch, array_ops.shape(matrix)[:-2])
        return [
            array_ops.broadcast_to(matrix, array_ops.concat([batch, array_ops.shape(matrix)[-2:]], axis=0))
            for matrix in matrices
        ]


def cholesky_solve_with_broadcast(chol, rhs, name=None):
    with ops.name_scope(name, "CholeskySolveWithBroadcast", [chol, rhs]):
        return linalg_ops.cholesky_solve(*broadcast_matrix_batch_dims([chol, rhs]))


def matrix_solve_with_broadcast(matrix, rhs, adjoint=False, name=None):
    with ops.name_scope(name, "MatrixSolveWithBroadcast", [matrix, rhs]):
        return linalg_ops.matrix_solve(*broadcast_matrix_batch_dims([matrix, rhs]), adjoint=adjoint)


def matrix_triangular_solve_with_broadcast(matrix, rhs, lower=True, adjoint=False, name=None):
    with ops.name_scope(name, "MatrixTriangularSolve", [matrix, rhs]):
        matrix, rhs = broadcast_matrix_batch_dims([matrix, rhs])
        return linalg_ops.matrix_triangular_solve(matrix, rhs, lower=lower, adjoint=adjoint)


def use_operator_or_provided_hint_unless_contradicting(
    operator, hint_attr_name, provided_hint_value, message
):
    """What is known of an operator, by itself or by the hint. ValueError, with the message: they differ."""
    return implied_hint(getattr(operator, hint_attr_name), provided_hint_value, message)


def implied_hint(fact, hint, message):
    """The fact if it is not None, else the hint. ValueError, with the message: they differ."""
    if fact is None:
        return hint
    if hint is not None and bool(hint) != bool(fact):
        raise ValueError(message)
    return fact
