"""tf.einsum and functions of mathematics."""

import re

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import gen_linalg_ops
from braid.tensorflow.python.ops import gen_math_ops
from braid.tensorflow.python.ops import gen_special_math_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("math.lbeta", v1=["math.lbeta", "lbeta"])
def lbeta(x, name=None):
    """The logarithm of the beta function of each row: sum(lgamma(x)) - lgamma(sum(x))."""
    with ops.name_scope(name, "lbeta", [x]):
        x = ops.convert_to_tensor(x, name="x")
        product = math_ops.reduce_sum(math_ops.lgamma(x), axis=[-1])
        total = math_ops.lgamma(math_ops.reduce_sum(x, axis=[-1]))
        return product - total


def __getattr__(name):
    if name in ("bessel_i0e", "bessel_i1e"):
        return getattr(gen_math_ops, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _unary(build, default_name, x, name):
    with ops.name_scope(name, default_name, [x]):
        return build(x)


@tf_export("math.bessel_i0")
def bessel_i0(x, name=None):
    """The modified Bessel function of order 0."""
    return _unary(gen_special_math_ops.bessel_i0, "bessel_i0", x, name)


@tf_export("math.bessel_i1")
def bessel_i1(x, name=None):
    """The modified Bessel function of order 1."""
    return _unary(gen_special_math_ops.bessel_i1, "bessel_i1", x, name)


@tf_export("einsum", "linalg.einsum")
def einsum(equation, *inputs, **kwargs):
    """Sums of products of tensors' elements, by an equation in Einstein's notation: "ij,jk->ik".

    "..." stands for any dimensions, which are broadcast. Without "->" the result has the letters that are
    there once, in alphabetical order.
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise TypeError(
            "invalid keyword arguments for this function: " + ", ".join(format(key) for key in sorted(kwargs))
        )
    if not inputs:
        raise ValueError("einsum() requires at least one input")
    with ops.name_scope(name, "einsum", [equation, inputs]):
        inputs = [ops.convert_to_tensor(x) for x in inputs]
        terms, result = _terms_of(equation, inputs)
        terms = [_Term(letters, x) for letters, x in zip(terms, inputs)]
        while len(terms) > 2:
            terms[:2] = [_product(terms[0], terms[1], terms[2:], result)]
        equation = ",".join(t.letters for t in terms) + "->" + result
        return gen_linalg_ops.einsum([t.tensor for t in terms], equation=equation)


class _Term:
    """A factor of a product: a tensor and the letters of its dimensions."""

    def __init__(self, letters, tensor):
        self.letters = letters
        self.tensor = tensor


def _product(a, b, others, result):
    """The product of two factors, with the dimensions that are needed later."""
    needed = set(result).union(*(t.letters for t in others))
    letters = ""
    for part in re.findall(r"\.\.\.|.", a.letters + b.letters):
        if part not in letters and (part == "..." or part in needed):
            letters += part
    made = gen_linalg_ops.einsum([a.tensor, b.tensor], equation=f"{a.letters},{b.letters}->{letters}")
    return _Term(letters, made)


def _terms_of(equation, inputs):
    """The letters of each input, and of the result."""
    equation = equation.replace(" ", "")
    match = re.match(r"^([a-zA-Z,.]+)(->[a-zA-Z.]*)?$", equation)
    if not match:
        raise ValueError("Indices have incorrect format: %s" % equation)
    terms = match.group(1).split(",")
    if len(terms) != len(inputs):
        raise ValueError(
            "Incorrect number of arguments for equation: expected %d, got %d" % (len(terms), len(inputs))
        )
    if match.group(2):
        result = match.group(2)[2:]
    else:
        letters = sorted(c for c in set(match.group(1)) if c not in ",.")
        result = "..." if "..." in equation else ""
        result += "".join(c for c in letters if match.group(1).count(c) == 1)
    for letter in set(result) - {"."}:
        if letter not in match.group(1):
            raise ValueError("Unknown output axis %s in equation %s" % (letter, equation))
    for letters, x in zip(terms, inputs):
        if "..." in letters or x.get_shape().ndims is None:
            continue
        if x.get_shape().ndims != len(letters):
            raise ValueError(
                "Subscripts '%s' have incorrect length for an input of shape %s" % (letters, x.get_shape())
            )
    return terms, result
