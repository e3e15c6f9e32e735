"""tf.einsum and functions of mathematics."""

import collections
import re
import string

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
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

    "..." stands for any dimensions. Without "->" the result has the letters that are there once, in
    alphabetical order. The nodes are TensorFlow 1.15's: products of matrices, transpositions and reshapes.
    Only where a letter of more than two factors is summed they are Einsum.
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise TypeError(
            "invalid keyword arguments for this function: " + ", ".join(format(key) for key in sorted(kwargs))
        )
    with ops.name_scope(name, "einsum", [equation, inputs]):
        # A variable is read within the node that takes it.
        inputs = [x if hasattr(x, "get_shape") else ops.convert_to_tensor(x) for x in inputs]
        terms, result = _terms_of(equation, [x.get_shape() for x in inputs])
        for letters in terms:
            most = max(map(letters.count, letters), default=0)
            if most < 2:
                continue
            if len(terms) == 1 and most == 2 and letters == letters[::-1] and "->" not in equation:
                return math_ops.trace(inputs[0])
            raise ValueError(f"Subscript not supported: an axis appears more than once: {letters}")
        for letter in sorted(set("".join(terms)) - set(result)):
            if sum(letter in letters for letters in terms) > 2:
                return _sum_over_many(terms, result, inputs)
        product, letters = inputs[0], terms[0]
        for x, its_letters in zip(inputs[1:], terms[1:]):
            summed = set(letters) & set(its_letters) - set(result)
            product, letters = _product(product, letters, x, its_letters, summed)
        left = [i for i, letter in enumerate(letters) if letter not in result]
        if left:
            product = math_ops.reduce_sum(product, axis=left)
            letters = "".join(letter for letter in letters if letter in result)
        if sorted(letters) != sorted(result):
            raise ValueError(f"Invalid equation: {equation}")
        return _with_letters_in_order(product, letters, result)


def _product(a, a_letters, b, b_letters, summed):
    """The product of two factors, with the letters that it has: those of both without the summed ones."""
    for x, letters, n in ((a, a_letters, 0), (b, b_letters, 1)):
        if x.get_shape().ndims != len(letters):
            rank = len(x.get_shape())
            raise ValueError(
                f"Tensor t{n} of rank {rank} does not match einsum reduction of length {len(letters)}"
            )
    batch = sorted(set(a_letters) & set(b_letters) - summed)
    rows = sorted(set(a_letters) - set(b_letters))
    columns = sorted(set(b_letters) - set(a_letters))
    inner = sorted(summed)
    a = _with_letters_in_order(a, a_letters, batch + rows + inner)
    b = _with_letters_in_order(b, b_letters, batch + inner + columns)
    letters = "".join(batch + rows + columns)
    if not inner:
        for _ in columns:
            a = array_ops.expand_dims(a, -1)
        for _ in rows:
            b = array_ops.expand_dims(b, len(batch))
        return math_ops.multiply(a, b), letters
    a_sizes = _sizes_of(a)
    count, before = len(batch), len(batch) + len(rows)
    a_matrices = [_number(a_sizes[count:before]), _number(a_sizes[before:])]
    a = _with_sizes(a, a_sizes[:count] + a_matrices)
    b_sizes = _sizes_of(b)
    b_columns = _number(b_sizes[count + len(inner) :])
    b = _with_sizes(b, b_sizes[:count] + [a_matrices[1], b_columns])
    return _with_sizes(math_ops.matmul(a, b), a_sizes[:before] + b_sizes[count + len(inner) :]), letters


def _sum_over_many(terms, result, inputs):
    """The result where a letter of more than two factors is summed: the product is not expanded."""
    products = [*zip(terms, inputs)]
    while len(products) > 2:
        (a, x), (b, y) = products[:2]
        needed = set(result).union(*(letters for letters, _ in products[2:]))
        letters = "".join(letter for letter in dict.fromkeys(a + b) if letter in needed)
        products[:2] = [(letters, gen_linalg_ops.einsum([x, y], equation=f"{a},{b}->{letters}"))]
    equation = ",".join(letters for letters, _ in products) + "->" + result
    return gen_linalg_ops.einsum([x for _, x in products], equation=equation)


def _with_letters_in_order(x, letters, wanted):
    """A tensor with its dimensions in another order."""
    order = [letters.index(letter) for letter in wanted]
    return x if order == [*range(len(order))] else array_ops.transpose(x, perm=order)


def _sizes_of(x):
    """The sizes of the dimensions: numbers, or tensors where only a step knows them."""
    sizes = x.get_shape().as_list()
    if None in sizes:
        shape = array_ops.shape(x)
        sizes = [shape[i] if size is None else size for i, size in enumerate(sizes)]
    return sizes


def _number(sizes):
    """How many elements dimensions of these sizes have."""
    number = 1
    for size in sizes:
        number *= size
    return number


def _with_sizes(x, sizes):
    """A tensor with other dimensions; x where it has them already."""
    known = x.get_shape().as_list()
    if len(known) == len(sizes):
        if all(not isinstance(new, ops.Tensor) and new == old for old, new in zip(known, sizes)):
            return x
    return array_ops.reshape(x, sizes)


def _terms_of(equation, shapes):
    """The letters of each input, and of the result. Dimensions of "..." get letters that are not used."""
    equation = equation.replace(" ", "")
    match = re.match("^([a-zA-Z,.]+)(->[a-zA-Z.]*)?$", equation)
    if not match:
        raise ValueError(f"Indices have incorrect format: {equation}")
    terms = match.group(1).split(",")
    result = match.group(2)[2:] if match.group(2) else None
    if len(shapes) != len(terms):
        raise ValueError(f'Got {len(shapes)} arguments for equation "{equation}", expecting {len(terms)}')
    others = ""  # the letters of "..."
    if "..." in equation:
        unused = [letter for letter in string.ascii_letters if letter not in match.group(1)]
        for i, (letters, shape) in enumerate(zip(terms, shapes)):
            if "..." not in letters:
                continue
            if letters.count("...") > 1:
                raise ValueError("Unable to resolve ellipsis. Excess number found.")
            if shape.ndims is None:
                raise ValueError("Unable to statically infer ellipsis axes.")
            number = shape.ndims - len(letters.replace("...", ""))
            if number < 0:
                raise ValueError("Ellipses lengths do not match.")
            if len(unused) < number:
                raise ValueError("Unable to resolve ellipsis, too many distinct labels.")
            own = "".join(unused[len(unused) - number :])
            terms[i] = letters.replace("...", own)
            others = max(others, own, key=len)
        if result is not None:
            result = result.replace("...", others)
        if any("." in letters for letters in [*terms, result or ""]):
            raise ValueError('period "." found outside of ellipsis')
    if result is None:
        counts = collections.Counter("".join(terms))
        result = others + "".join(sorted(x for x in counts if counts[x] == 1 and x not in others))
    return terms, result
