"""Rules for adjoints, inverses, products ... of linear operators, chosen by their classes.

The rule of the nearest classes counts: of those for (A, B) and their base classes the one with the fewest
steps of inheritance in both together. The rules of the operators here are in registrations.py.
"""

import itertools

from braid.tensorflow.python.framework import ops

_ADJOINTS, _CHOLESKY_DECOMPS, _MATMUL, _SOLVE, _INVERSES = {}, {}, {}, {}, {}


def _registered_function(type_list, registry):
    """The rule for operands of these classes, or None."""
    found = [
        (sum(steps for steps, _ in combination), registry[tuple(cls for _, cls in combination)])
        for combination in itertools.product(*(enumerate(t.__mro__) for t in type_list))
        if tuple(cls for _, cls in combination) in registry
    ]
    return min(found, key=lambda rule: rule[0])[1] if found else None


def _registered_adjoint(type_a):
    return _registered_function([type_a], _ADJOINTS)


def _registered_cholesky(type_a):
    return _registered_function([type_a], _CHOLESKY_DECOMPS)


def _registered_matmul(type_a, type_b):
    return _registered_function([type_a, type_b], _MATMUL)


def _registered_solve(type_a, type_b):
    return _registered_function([type_a, type_b], _SOLVE)


def _registered_inverse(type_a):
    return _registered_function([type_a], _INVERSES)


def _apply(registry, what, scope, operators, name):
    from braid.tensorflow.python.ops.linalg import registrations  # noqa: F401, which fills the tables

    rule = _registered_function([type(operator) for operator in operators], registry)
    if rule is None:
        raise ValueError(f"No {what} registered for {', '.join(str(type(o)) for o in operators)}")
    with ops.name_scope(name, scope):
        return rule(*operators)


def adjoint(lin_op_a, name=None):
    return _apply(_ADJOINTS, "adjoint", "Adjoint", [lin_op_a], name)


def cholesky(lin_op_a, name=None):
    return _apply(_CHOLESKY_DECOMPS, "cholesky decomposition", "Cholesky", [lin_op_a], name)


def matmul(lin_op_a, lin_op_b, name=None):
    return _apply(_MATMUL, "matmul", "Matmul", [lin_op_a, lin_op_b], name)


def solve(lin_op_a, lin_op_b, name=None):
    return _apply(_SOLVE, "solve", "Solve", [lin_op_a, lin_op_b], name)


def inverse(lin_op_a, name=None):
    return _apply(_INVERSES, "inverse", "Inverse", [lin_op_a], name)


class _Register:
    """Decorates a rule for operands of these classes. ValueError: there is one."""

    registry, what = None, None

    def __init__(self, *classes):
        self._key = classes

    def __call__(self, rule):
        if not callable(rule):
            raise TypeError(f"{self.what}_fn must be callable, received: {rule}")
        if self._key in self.registry:
            names = ", ".join(cls.__name__ for cls in self._key)
            raise ValueError(
                f"{self.what.capitalize()}({names}) has already been registered to: "
                f"{self.registry[self._key]}"
            )
        self.registry[self._key] = rule
        return rule


class RegisterAdjoint(_Register):
    registry, what = _ADJOINTS, "adjoint"


class RegisterCholesky(_Register):
    registry, what = _CHOLESKY_DECOMPS, "cholesky"


class RegisterMatmul(_Register):
    registry, what = _MATMUL, "matmul"


class RegisterSolve(_Register):
    registry, what = _SOLVE, "solve"


class RegisterInverse(_Register):
    registry, what = _INVERSES, "inverse"
