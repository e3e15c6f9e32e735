"""The rules for adjoints, inverses, decompositions, products and solutions of linear operators."""

from braid.tensorflow.python.ops import linalg_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.linalg import linear_operator_algebra as algebra
from braid.tensorflow.python.ops.linalg.linear_operator import LinearOperator
from braid.tensorflow.python.ops.linalg.linear_operator_adjoint import LinearOperatorAdjoint
from braid.tensorflow.python.ops.linalg.linear_operator_block_diag import LinearOperatorBlockDiag
from braid.tensorflow.python.ops.linalg.linear_operator_circulant import LinearOperatorCirculant
from braid.tensorflow.python.ops.linalg.linear_operator_composition import LinearOperatorComposition
from braid.tensorflow.python.ops.linalg.linear_operator_diag import LinearOperatorDiag
from braid.tensorflow.python.ops.linalg.linear_operator_householder import LinearOperatorHouseholder
from braid.tensorflow.python.ops.linalg.linear_operator_identity import (
    LinearOperatorIdentity,
    LinearOperatorScaledIdentity,
)
from braid.tensorflow.python.ops.linalg.linear_operator_inversion import LinearOperatorInversion
from braid.tensorflow.python.ops.linalg.linear_operator_kronecker import LinearOperatorKronecker
from braid.tensorflow.python.ops.linalg.linear_operator_lower_triangular import (
    LinearOperatorLowerTriangular,
)
from braid.tensorflow.python.ops.linalg.linear_operator_zeros import LinearOperatorZeros

_SQUARE_PARTS = (LinearOperatorBlockDiag, LinearOperatorKronecker)


def _same(operator):
    return operator


def _inner(wrapper):
    return wrapper.operator


def _of_parts(method, **changed):
    """The operator of the same kind, of what a method makes of its operands."""

    def rule(whole):
        parts = [getattr(operator, method)() for operator in whole.operators]
        return type(whole)(parts, **whole._hints(is_square=True, **changed))

    return rule


# Adjoints.

algebra.RegisterAdjoint(LinearOperator)(lambda a: LinearOperatorAdjoint(a, **a._hints()))
algebra.RegisterAdjoint(LinearOperatorAdjoint)(_inner)
algebra.RegisterAdjoint(LinearOperatorIdentity)(_same)
algebra.RegisterAdjoint(LinearOperatorHouseholder)(_same)
algebra.RegisterAdjoint(LinearOperatorScaledIdentity)(
    lambda a: LinearOperatorScaledIdentity(a._num_rows, math_ops.conj(a.multiplier), **a._hints())
)
algebra.RegisterAdjoint(LinearOperatorDiag)(lambda a: LinearOperatorDiag(math_ops.conj(a.diag), **a._hints()))
algebra.RegisterAdjoint(LinearOperatorCirculant)(
    lambda a: LinearOperatorCirculant(math_ops.conj(a.spectrum), a.dtype, **a._hints())
)
for _cls in _SQUARE_PARTS:
    algebra.RegisterAdjoint(_cls)(_of_parts("adjoint"))

# Inverses.

algebra.RegisterInverse(LinearOperator)(lambda a: LinearOperatorInversion(a, **a._hints()))
algebra.RegisterInverse(LinearOperatorInversion)(_inner)
algebra.RegisterInverse(LinearOperatorIdentity)(_same)
algebra.RegisterInverse(LinearOperatorHouseholder)(_same)
algebra.RegisterInverse(LinearOperatorScaledIdentity)(
    lambda a: LinearOperatorScaledIdentity(a._num_rows, 1.0 / a.multiplier, **a._hints())
)
algebra.RegisterInverse(LinearOperatorDiag)(lambda a: LinearOperatorDiag(1.0 / a.diag, **a._hints()))
algebra.RegisterInverse(LinearOperatorCirculant)(
    lambda a: LinearOperatorCirculant(1.0 / a.spectrum, a.dtype, **a._hints())
)
for _cls in _SQUARE_PARTS:
    algebra.RegisterInverse(_cls)(_of_parts("inverse"))

# Decompositions of Cholesky. They are lower triangular: self-adjoint only if they are diagonal.

algebra.RegisterCholesky(LinearOperator)(
    lambda a: LinearOperatorLowerTriangular(
        linalg_ops.cholesky(a.to_dense()), is_non_singular=True, is_self_adjoint=False, is_square=True
    )
)
algebra.RegisterCholesky(LinearOperatorIdentity)(_same)
algebra.RegisterCholesky(LinearOperatorScaledIdentity)(
    lambda a: LinearOperatorScaledIdentity(a._num_rows, math_ops.sqrt(a.multiplier), **a._hints())
)
algebra.RegisterCholesky(LinearOperatorDiag)(
    lambda a: LinearOperatorDiag(math_ops.sqrt(a.diag), **a._hints())
)
for _cls in _SQUARE_PARTS:
    algebra.RegisterCholesky(_cls)(_of_parts("cholesky", is_self_adjoint=None, is_positive_definite=None))

# Products and solutions.


def _both(hint, a, b):
    """True or False where both operators agree on a hint, else None."""
    hints = getattr(a, hint), getattr(b, hint)
    return hints[0] if hints[0] == hints[1] else None


def _non_singular(a, b):
    if a.is_non_singular is False or b.is_non_singular is False:
        return False
    return a.is_non_singular and b.is_non_singular


def _commuting(a, b):
    """The hints of a product of operators that commute."""
    adjoint = _both("is_self_adjoint", a, b)
    if {a.is_self_adjoint, b.is_self_adjoint} == {True, False}:
        adjoint = False
    positive = adjoint is True and _both("is_positive_definite", a, b) is True
    return {
        "is_non_singular": _non_singular(a, b),
        "is_self_adjoint": adjoint if adjoint is not None else None,
        "is_positive_definite": True if positive else None,
        "is_square": True,
    }


def _triangular(a, b):
    return {"is_non_singular": _non_singular(a, b), "is_square": True}


def _square(a, b):
    """Whether the product is square: True, False or None."""
    if a.is_square and b.is_square:
        return True
    if a.is_square is False and b.is_square is False:
        rows, columns = a.range_dimension, b.domain_dimension
        return rows == columns
    if a.is_square is not None and b.is_square is not None:
        return False
    return None


def _composed(a, b, first=None):
    """The product of two operators, of which nothing else is known. first: what stands for a."""
    square = _square(a, b)
    hints = {"is_square": square}
    if square:
        hints["is_non_singular"] = _non_singular(a, b)
    elif square is False:
        hints.update(is_non_singular=False, is_self_adjoint=False, is_positive_definite=False)
    return LinearOperatorComposition([a if first is None else first, b], **hints)


algebra.RegisterMatmul(LinearOperator, LinearOperator)(_composed)
algebra.RegisterMatmul(LinearOperatorIdentity, LinearOperator)(lambda identity, a: a)
algebra.RegisterMatmul(LinearOperator, LinearOperatorIdentity)(lambda a, identity: a)
algebra.RegisterMatmul(LinearOperatorIdentity, LinearOperatorIdentity)(lambda a, b: a)
algebra.RegisterSolve(LinearOperator, LinearOperator)(
    lambda a, b: _composed(a, b, first=LinearOperatorInversion(a))
)
algebra.RegisterSolve(LinearOperatorInversion, LinearOperator)(lambda a, b: a.operator.matmul(b))
algebra.RegisterSolve(LinearOperatorIdentity, LinearOperator)(lambda identity, a: a)


def _zeros(zeros, other):
    if not zeros.is_square or not other.is_square:
        raise ValueError(
            "Matmul with non-square `LinearOperator`s or non-square `LinearOperatorZeros` not supported at "
            "this time."
        )
    return zeros


algebra.RegisterMatmul(LinearOperatorZeros, LinearOperator)(_zeros)
algebra.RegisterMatmul(LinearOperator, LinearOperatorZeros)(lambda a, zeros: _zeros(zeros, a))


def _diagonal(operator):
    """The diagonal of a LinearOperatorDiag, or what stands for that of a multiple of the identity."""
    return operator.diag if isinstance(operator, LinearOperatorDiag) else operator.multiplier[..., None]


for _a, _b in (
    (LinearOperatorDiag, LinearOperatorDiag),
    (LinearOperatorDiag, LinearOperatorScaledIdentity),
    (LinearOperatorScaledIdentity, LinearOperatorDiag),
):
    algebra.RegisterMatmul(_a, _b)(
        lambda a, b: LinearOperatorDiag(_diagonal(a) * _diagonal(b), **_commuting(a, b))
    )
    algebra.RegisterSolve(_a, _b)(
        lambda a, b: LinearOperatorDiag(_diagonal(b) / _diagonal(a), **_commuting(a, b))
    )
algebra.RegisterMatmul(LinearOperatorDiag, LinearOperatorLowerTriangular)(
    lambda a, b: LinearOperatorLowerTriangular(a.diag[..., None] * b.to_dense(), **_triangular(a, b))
)
algebra.RegisterMatmul(LinearOperatorLowerTriangular, LinearOperatorDiag)(
    lambda a, b: LinearOperatorLowerTriangular(a.to_dense() * b.diag[..., None, :], **_triangular(a, b))
)
algebra.RegisterSolve(LinearOperatorDiag, LinearOperatorLowerTriangular)(
    lambda a, b: LinearOperatorLowerTriangular(b.to_dense() / a.diag[..., None], **_triangular(a, b))
)
algebra.RegisterMatmul(LinearOperatorCirculant, LinearOperatorCirculant)(
    lambda a, b: LinearOperatorCirculant(a.spectrum * b.spectrum, a.dtype, **_commuting(a, b))
)
algebra.RegisterSolve(LinearOperatorCirculant, LinearOperatorCirculant)(
    lambda a, b: LinearOperatorCirculant(b.spectrum / a.spectrum, a.dtype, **_commuting(a, b))
)
