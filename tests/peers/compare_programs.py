"""Differences between two results of run_programs.py.

    compare_programs.py RESULT EXPECTED    prints them; EXPECTED is TensorFlow's

The same are: numbers to rounding, integers and strings in full, dtypes, classes of errors, names of tensors
and operations, static shapes. Braid may know more of a shape, because its engine evaluates what is constant.
"""

import pickle
import re
import sys

import numpy as np

import programs

RELATIVE = 1e-5  # of float32, by the largest element of the tensor
CANCELLED = 1e-6  # what is left where terms of about 1 cancel out each other

# What TensorFlow 2.15 does otherwise than 1.15, whose behaviour Braid has, or builds otherwise inside a
# function whose result has another name then. (Braid's name, TensorFlow 2.15's), without scopes and numbers.
NAMES = {
    ("AccumulateNV2", "AddN"),
    ("BatchGather/GatherV2", "BatchGather/Reshape"),
    ("BatchGatherND/GatherNd", "BatchGatherND/Reshape"),
    ("BesselI0e", "bessel_i0e/BesselI0e"),
    ("BesselI1e", "bessel_i1e/BesselI1e"),
    ("CTCLoss/Select", "CTCLoss"),
    ("GatherV2", "Reshape"),
    ("Identity", "Gather"),
    ("IdentityN", "SelfAdjointEigV2"),
    ("IdentityN", "Svd"),
    ("LinSpace", "linspace/Slice"),
    ("ParseExample/ParseExample", "ParseExample/ParseExampleV2"),
    ("ParseSingleExample/ParseSingleExample", "ParseSingleExample/ParseExample/ParseExampleV2"),
    ("RaggedReduceSum/RaggedSegmentSum", "RaggedReduceSum/UnsortedSegmentSum"),
    ("RaggedRowLengths/sub", "sub"),
    ("Repeat/GatherV2", "Repeat/Reshape"),
    ("Repeat/GatherV2", "Repeat/boolean_mask/GatherV2"),
    ("StringSplit/StringSplitV2", "StringSplit/RaggedToSparse/RaggedTensorToSparse"),
    ("Tensordot", "Tensordot/MatMul"),
    ("UnicodeEncode/Reshape", "UnicodeEncode/UnicodeEncode/UnicodeEncode"),
    ("UnsortedSegmentSum", "RaggedReduceSum/UnsortedSegmentSum"),
    ("Xdivy", "xdivy/Xdivy"),
    ("bincount/Bincount", "bincount/DenseBincount"),
    ("bincount/UnsortedSegmentSum", "bincount/DenseBincount"),
    ("MatrixTriangularSolve", "triangular_solve/MatrixTriangularSolve"),
    ("ReduceLogSumExp/Add", "ReduceLogSumExp"),
    ("confusion_matrix/SparseTensorDenseAdd", "confusion_matrix/ScatterNd"),
    ("per_image_standardization/Identity", "per_image_standardization"),
    ("dct/Reshape", "dct/Real"),
    ("frame/GatherV2", "frame/Reshape"),
    ("flip_left_right/ReverseV2", "flip_left_right/cond/Merge"),
    ("flip_up_down/ReverseV2", "flip_up_down/cond/Merge"),
    ("hamming_window/Select", "hamming_window/sub"),
    ("hann_window/Select", "hann_window/sub"),
    ("matrix_exponential", "matrix_exponential/Reshape"),
    ("einsum/MatMul", "einsum/Einsum"),
    ("einsum/Reshape", "einsum/Einsum"),
    ("einsum/Sum", "einsum/Einsum"),
    ("einsum/transpose", "einsum/Einsum"),
    ("mul", "IdentityN"),
    ("mul", "Mul"),
    ("overlap_and_add/Reshape", "overlap_and_add/strided_slice"),
    ("sort/Neg", "sort/sub"),
    ("sort/transpose", "sort/Neg"),
}
# What Braid builds otherwise than TensorFlow 1.15.
NAMES |= {
    ("decode_image/DecodeImage", "decode_image/cond_jpeg/Merge"),
    ("RaggedToTensor/RaggedTensorToTensor", "RaggedToTensor/GatherV2"),
    ("matrix_exponential", "matrix_exponential/Reshape"),
}
# Less of the shape than TensorFlow 2.15 knows, as with 1.15; and the shapes that 1.15 knows where it builds
# what it has no op for.
SHAPES = re.compile(
    r"TensorArrayConcatV3|ReadVariableOp/Switch_grad|b_acc|GatherNd_grad/ScatterNd|Conv2DBackpropInput|set_diag"
    r"|RaggedToTensor|matrix_exponential"
)
# What TensorFlow 1.15 leaves unset: means and variances that were given, not computed.
UNSET = re.compile(r"fused_batch_norm\(.*is_training=False")
# What TensorFlow's kernels do not compute, those of 2.15 on processors for which it does not take oneDNN.
REFUSED = "CPU implementations do not yet support dilation rates larger than 1"
# Errors of TensorFlow where Braid goes on, and of classes that differ.
ERRORS = {
    (None, "LookupError"),  # of a gradient: Braid takes the op for one without a derivative
    ("LookupError", None),  # of a gradient that Braid lacks: of Qr
    ("TypeError", "ValueError"),  # of a shape that is not known
    (None, "TypeError"),  # second-order gradients of loops, which Braid has
    ("ValueError", "TypeError"),  # of a shape that is not known, which TensorFlow does not look at
    ("NotImplementedError", None),  # what Braid refuses by name
}


def same_numbers(a, b):
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype == object or a.dtype.kind in "biuSU":
        return bool(np.all(a == b))
    relative = {"float16": 2e-3, "float64": 1e-9, "complex128": 1e-9}.get(a.dtype.name, RELATIVE)
    finite = np.isfinite(b)
    scale = np.max(np.abs(b[finite]), initial=0.0)
    infinite = (a[~finite] == b[~finite]) | (np.isnan(a[~finite]) & np.isnan(b[~finite]))
    if not (np.all(np.isfinite(a) == finite) and np.all(infinite)):
        return False
    return bool(np.all(np.abs(a[finite] - b[finite]) <= relative * scale + CANCELLED))


def roughly(a, b):
    """Whether two means and deviations are those of the same distribution: two means of the 2,000 values that
    the programs draw at least differ by more than 0.15 deviations twice in a million."""
    return all(abs(x - y) <= 0.15 * max(abs(x), abs(y), abs(b[1])) + CANCELLED for x, y in zip(a, b))


def same(a, b):
    """Whether two values of a fetch are the same."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        kinds = [x[0] if x and isinstance(x[0], str) else None for x in (a, b)]
        if "error" in kinds:
            return a[:2] == b[:2]
        if kinds == ["statistics", "statistics"]:
            return a[1:3] == b[1:3] and roughly(a[3:], b[3:])
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return same_numbers(a, b)
    return type(a) is type(b) and a == b


def plain_name(name):
    """Without numbers and the scopes that programs.py makes."""
    name = re.sub(r"_\d+(?=[/:]|$)", "", name.split(":")[0])
    return re.sub(r"^(scope\d/)+", "", name)


def same_name(a, b):
    if a == b or "gradients" in a and "gradients" in b:  # how TensorFlow reduces to a shape has changed
        return True
    a, b = plain_name(a), plain_name(b)
    return a == b or (a, b) in NAMES


def sizes(shape):
    return None if shape == "<unknown>" else re.findall(r"\?|\d+", shape)


def at_least(ours, theirs):
    """Whether a static shape says all that another does."""
    ours, theirs = sizes(ours), sizes(theirs)
    if theirs is None or ours is None:
        return theirs is None
    return len(ours) == len(theirs) and all(b in (a, "?") for a, b in zip(ours, theirs))


def described(a, b):
    """What differs between two descriptions: None, "name", "shape", "dtype" or "kind"."""
    if a == b:
        return None
    if not (isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b) and a[:1] == b[:1]):
        return "kind"
    if a[0] in ("tensor", "sparse"):
        if a[1] != b[1]:
            return "dtype"
        if not at_least(a[2], b[2]) and not (a[0] == "tensor" and SHAPES.search(a[3])):
            return "shape"
        if a[0] == "tensor":
            return None if same_name(a[3], b[3]) else "name"
        a, b = a[2:], b[2:]
    elif a[0] == "op":
        return None if a[1] == b[1] and same_name(a[2], b[2]) else "name"
    elif a[0] == "value" and all(isinstance(x[1], str) for x in (a, b)):
        return None if plain_name(a[1]) == plain_name(b[1]) else "kind"
    elif a[0] in ("value", "statistics"):
        return "kind"
    found = [described(x, y) for x, y in zip(a[1:], b[1:])]
    return next((kind for kind in found if kind), None)


def differences(seed, ours, theirs):
    """Yields (kind, where, ours, theirs)."""
    pieces = programs.program(seed)
    is_1 = theirs.get("version", "").startswith("1.")
    for piece, a, b in zip(pieces, ours["pieces"], theirs["pieces"]):
        classes = (a and a[0][1], b and b[0][1])
        if classes[0] != classes[1] and classes not in ERRORS and "NameError" not in classes:
            yield "error", piece, a, b
    for name in ours["kept"].keys() & theirs["kept"].keys():
        (a, x), (b, y) = ours["kept"][name], theirs["kept"][name]
        piece = next((p for p in pieces if re.search(rf"\b{name}(, v\d+)* = ", p)), name)
        if described(a, b):
            yield described(a, b), piece, a, b
        if not same(x, y) and REFUSED not in str(y) and not (is_1 and UNSET.search(piece)):
            yield "value", piece, x, y
    if len(ours["steps"]) != len(theirs["steps"]):
        yield "steps", "", len(ours["steps"]), len(theirs["steps"])
    for i, ((a, x), (b, y)) in enumerate(zip(ours["steps"], theirs["steps"])):
        if ("value", "'left out'") in (a, b):  # on a server
            continue
        if described(a, b):
            yield described(a, b), f"step {i}", a, b
        if not same(x, y):
            yield "value", f"step {i}", x, y


def load(path):
    """The results by seed; those before the process crashed where it did."""
    results = {}
    with open(path, "rb") as file:
        try:
            while True:
                seed, result = pickle.load(file)
                results[seed] = result
        except EOFError:
            return results


def report(ours, theirs):
    """Texts of the differences between results by seed."""
    found = []
    for seed in sorted(theirs.keys() | ours.keys()):
        a, b = ours.get(seed), theirs.get(seed)
        if a is None or b is None:
            found.append(f"---- {seed} run: did not end with {'Braid' if a is None else 'TensorFlow'}")
            continue
        for kind, where, x, y in differences(seed, a, b):
            text = (
                f"---- {seed} {kind}: {where[:300]}\n  Braid      {str(x)[:300]}\n  TensorFlow {str(y)[:300]}"
            )
            found.append(text)
    return found


if __name__ == "__main__":
    texts = report(load(sys.argv[1]), load(sys.argv[2]))
    print("\n".join([*texts, f"{len(texts)} differences"]))
