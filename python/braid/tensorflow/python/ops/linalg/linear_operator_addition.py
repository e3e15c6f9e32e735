"""Sums of linear operators: as few operators as the kinds of the summands allow."""

from braid.tensorflow.python.framework import ops, tensor_shape
from braid.tensorflow.python.ops import array_ops, check_ops
from braid.tensorflow.python.ops.linalg import (
    linear_operator,
    linear_operator_diag,
    linear_operator_full_matrix,
    linear_operator_identity,
    linear_operator_lower_triangular,
)

__all__ = []

_Diag = linear_operator_diag.LinearOperatorDiag
_Identity = linear_operator_identity.LinearOperatorIdentity
_ScaledIdentity = linear_operator_identity.LinearOperatorScaledIdentity
_Triangular = linear_operator_lower_triangular.LinearOperatorLowerTriangular
_Matrix = linear_operator_full_matrix.LinearOperatorFullMatrix
_DIAGONAL = (_Diag, _Identity, _ScaledIdentity)


def add_operators(operators, operator_name=None, addition_tiers=None, name=None):
    """Operators with the sum of `operators`, which have one dtype and shapes that broadcast.

    addition_tiers: lists of adders. All sums that those of one list can make are made before the next list's.
    By default what is diagonal or triangular stays so, and one operator is left.
    ValueError: there is no operator, or shapes do not fit. TypeError: one is no LinearOperator.
    """
    check_ops.assert_proper_iterable(operators)
    operators = list(reversed(operators))
    _check(operators)
    parents = [tensor for operator in operators for tensor in operator.graph_parents]
    with ops.name_scope(name or "add_operators", values=parents):
        left = operators
        for tier in _DEFAULT_ADDITION_TIERS if addition_tiers is None else addition_tiers:
            left = _add_all(left, tier, operator_name)
        return left


def _check(operators):
    if not operators:
        raise ValueError(f"Argument 'operators' must contain at least one operator. Found: {operators}")
    if not all(isinstance(operator, linear_operator.LinearOperator) for operator in operators):
        raise TypeError(
            f"Argument 'operators' must contain only LinearOperator instances. Found: {operators}"
        )
    batch_shape = operators[0].batch_shape
    for which in ("domain", "range"):
        sizes = {
            tensor_shape.dimension_value(getattr(operator, which + "_dimension")) for operator in operators
        }
        if len(sizes - {None}) > 1:
            raise ValueError(
                f"Operators must have the same {which} dimension. Found: {sorted(sizes - {None})}"
            )
    for operator in operators[1:]:
        batch_shape = array_ops.broadcast_static_shape(batch_shape, operator.batch_shape)


def _add_all(waiting, tier, operator_name):
    """The operators that are left when the adders of a tier can add no two of them."""
    waiting, left = list(waiting), []
    while waiting:
        first = waiting.pop()
        second, adder = _pop_match(first, waiting, tier)
        if second is None:
            left.append(first)
        else:
            waiting.append(adder.add(first, second, operator_name))
    return left


def _pop_match(first, others, tier):
    """The last of the others that an adder can add to the first, and the adder. (None, None): there is none."""
    for place in reversed(range(len(others))):
        for adder in tier:
            if adder.can_add(first, others[place]):
                return others.pop(place), adder
    return None, None


class _Hints:
    """What is known of a sum."""

    def __init__(self, is_non_singular=None, is_positive_definite=None, is_self_adjoint=None):
        self.is_non_singular = is_non_singular
        self.is_positive_definite = is_positive_definite
        self.is_self_adjoint = is_self_adjoint


def _hints_of_sum(first, second, hints):
    """Hints for a sum: those that are given, else what follows from the summands'."""
    hints = hints or _Hints()
    definite, adjoint, regular = hints.is_positive_definite, hints.is_self_adjoint, hints.is_non_singular
    if adjoint is None:
        adjoint = first.is_self_adjoint and second.is_self_adjoint
    if definite is None:
        definite = first.is_positive_definite and second.is_positive_definite
        regular = True if definite else regular
    return _Hints(regular, definite, adjoint)


class _Adder:
    """Adds operators of some classes."""

    _classes = ()

    @property
    def name(self):
        return type(self).__name__

    def can_add(self, op1, op2):
        return isinstance(op1, self._classes) and isinstance(op2, self._classes)

    def add(self, op1, op2, operator_name, hints=None):
        """The operator op1 + op2. hints: what the caller knows of it."""
        hints = _hints_of_sum(op1, op2, hints)
        if operator_name is None:
            operator_name = f"Add/{op1.name}__{op2.name}/"
        with ops.name_scope(self.name.lstrip("_"), values=op1.graph_parents + op2.graph_parents):
            return self._add(op1, op2, name=operator_name, **vars(hints))


def _dense_sum(op1, op2):
    diagonal, other = (op1, op2) if isinstance(op1, _DIAGONAL) else (op2, op1)
    return diagonal.add_to_tensor(other.to_dense())


def _factor(identity):
    if isinstance(identity, _ScaledIdentity):
        return identity.multiplier
    return array_ops.ones(identity.batch_shape_tensor(), identity.dtype)


class _AddAndReturnScaledIdentity(_Adder):
    _classes = (_Identity, _ScaledIdentity)

    def _add(self, op1, op2, **kwargs):
        factor = _factor(op1) + _factor(op2)
        return _ScaledIdentity(op1.range_dimension_tensor(), factor, **kwargs)


class _AddAndReturnDiag(_Adder):
    _classes = _DIAGONAL

    def _add(self, op1, op2, **kwargs):
        return _Diag(op1.diag_part() + op2.diag_part(), **kwargs)


class _AddAndReturnTriL(_Adder):
    _classes = (*_DIAGONAL, _Triangular)

    def _add(self, op1, op2, **kwargs):
        return _Triangular(_dense_sum(op1, op2), **kwargs)


class _AddAndReturnMatrix(_Adder):
    _classes = linear_operator.LinearOperator

    def _add(self, op1, op2, **kwargs):
        return _Matrix(_dense_sum(op1, op2), **kwargs)


_DEFAULT_ADDITION_TIERS = [
    [_AddAndReturnScaledIdentity()],
    [_AddAndReturnDiag()],
    [_AddAndReturnTriL()],
    [_AddAndReturnMatrix()],
]
