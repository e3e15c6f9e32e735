"""Runs programs of programs.py by whatever `import tensorflow` finds, and writes what they gave.

    run_programs.py RESULT [--target TARGET] SEED...

RESULT gets a pickle for each program: its seed and a dictionary of "version" (TensorFlow's), "pieces" (what
building each piece raised, or None), "kept" (for each name the description and the value), "steps"
(descriptions and values, in order) and "nodes" (names and ops). An error stands as ("error", its class, its message).
"""

import argparse
import os
import pickle
import sys
import traceback

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
import tensorflow as tf

import programs

if not hasattr(tf, "placeholder"):
    tf = tf.compat.v1
    tf.disable_v2_behavior()
    # TensorFlow 2.15 can crash while it looks for the lines of code that were compiled here.
    from tensorflow.python.framework import error_interpolation

    error_interpolation.interpolate_graph = lambda message, graph: message
tf.logging.set_verbosity(tf.logging.FATAL)


def det(shape, dtype=tf.float32, partition_info=None):
    """An initializer without randomness."""
    count = int(np.prod([int(size) for size in shape]))
    return tf.reshape(tf.cast(tf.range(count) * 7 % 11 - 5, dtype) / 8.0, shape)


def fit(x, shape):
    """The elements of a tensor in another shape: cut off, or with zeros (or "") after them."""
    flat = tf.reshape(x, [-1])
    padding = tf.fill(
        [int(np.prod(shape))], tf.constant("", tf.string) if x.dtype == tf.string else tf.zeros([], x.dtype)
    )
    return tf.reshape(tf.concat([flat, padding], 0)[: int(np.prod(shape))], shape)


def bounded(x):
    if x.dtype.is_complex:
        return x / tf.cast(1.0 + tf.abs(x), x.dtype)
    return tf.tanh(x) * 2.0


def small(x):
    return x % 64


def sparse(tf, shape, values):
    """A sparse tensor of some values at places that are given by their number."""
    known = values.shape[0] if values.shape.ndims else None
    count = min(int(known), 4) if known is not None and int(known) > 1 else 3
    values = fit(values, [count])
    places = sorted({(i * 5 + 1) % int(np.prod(shape)) for i in range(count)})
    indices = [list(np.unravel_index(place, shape)) for place in places]
    return tf.SparseTensor(np.array(indices, np.int64), values, shape)


def spd(tf, x):
    """A positive definite matrix."""
    return tf.matmul(x, x, transpose_b=True) + 2.0 * tf.eye(tf.shape(x)[0])


def example(count):
    """A serialized tf.train.Example."""
    made = tf.train.Example()
    made.features.feature["a"].int64_list.value.append(count)
    made.features.feature["b"].float_list.value.extend([0.5 * i for i in range(count)])
    if count % 2:
        made.features.feature["c"].bytes_list.value.append(b"c")
    return made.SerializeToString()


class Statistics:
    """Of a random tensor: what is to be compared roughly."""

    def __init__(self, tensor):
        self.tensor = tensor


def failure(error):
    return ("error", type(error).__name__)


def message(error):
    """Its message, for people. Not str(error), in which TensorFlow 2.15 can crash."""
    return (error.message if isinstance(error, tf.errors.OpError) else str(error))[:300]


def fails(call):
    """The class of the error that a call raises, as a constant; what it returned where it does not raise."""
    try:
        result = call()
    except Exception as error:  # pylint: disable=broad-except
        return failure(error)
    return ("returned", description(result))


def description(thing):
    """What is known of a value before the program runs."""
    if isinstance(thing, Statistics):
        return ("statistics", *description(thing.tensor)[1:3])
    if (
        isinstance(thing, (tf.Tensor, tf.Variable))
        or hasattr(thing, "initializer")
        and hasattr(thing, "dtype")
    ):
        return ("tensor", thing.dtype.name, str(thing.shape), thing.name)
    if isinstance(thing, tf.SparseTensor):
        return ("sparse", thing.dtype.name, str(thing.shape), *(description(t) for t in thing.op.outputs))
    if isinstance(thing, (list, tuple)):
        return (type(thing).__name__, *(description(part) for part in thing))
    if isinstance(thing, dict):
        return ("dict", *((key, description(thing[key])) for key in sorted(thing)))
    if isinstance(thing, tf.Operation):
        return ("op", thing.type, thing.name)
    return (
        "value",
        repr(thing)
        if isinstance(thing, (int, float, str, bytes, bool, type(None)))
        else type(thing).__name__,
    )


def plain(value):
    """A fetched value of numpy arrays and plain types only."""
    if hasattr(value, "indices") and hasattr(value, "values") and not hasattr(value, "items"):
        indices = np.asarray(value.indices)
        if indices.ndim == 1 and len(np.asarray(value.values)) == len(indices):  # slices: in any order
            order = np.argsort(indices, kind="stable")
            return (plain(np.asarray(value.values)[order]), indices[order], plain(value.dense_shape))
    if hasattr(value, "_fields"):
        return tuple(plain(part) for part in value)
    if isinstance(value, (list, tuple)):
        return tuple(plain(part) for part in value)
    if isinstance(value, dict):
        return tuple((key, plain(value[key])) for key in sorted(value))
    if isinstance(value, np.ndarray) and value.dtype == object:
        return np.array([bytes(v) if isinstance(v, bytes) else v for v in value.ravel()], object).reshape(
            value.shape
        )
    if isinstance(value, (np.ndarray, np.generic)):
        value = np.asarray(value)
        if value.dtype.name == "bfloat16":
            return ("bfloat16", value.astype(np.float32))
        return value
    if hasattr(value, "nested_row_splits"):
        return ("ragged", plain(value.nested_row_splits), plain(value.flat_values))
    return (
        value
        if isinstance(value, (bytes, str, int, float, bool, type(None)))
        else ("of type", type(value).__name__)
    )


def fetchable(thing):
    """What a session can fetch of a value; None where that is nothing."""
    if isinstance(thing, Statistics):
        return thing.tensor
    if isinstance(thing, (list, tuple)):
        parts = [fetchable(part) for part in thing]
        return [part for part in parts if part is not None] or None
    if isinstance(thing, dict):
        return {key: fetchable(part) for key, part in thing.items() if fetchable(part) is not None}
    if isinstance(thing, (int, float, str, bytes, bool, type(None))):
        return None
    return thing


class Run:
    def __init__(self, seed, options):
        self.options = options
        self.steps, self.kept, self.feeds = [], {}, {}
        self.namespace = {
            "tf": tf, "np": np, "det": det, "fit": fit, "bounded": bounded, "small": small, "sparse": sparse,
            "spd": spd, "example": example, "stat": Statistics, "fails": fails, "steps": self.steps,
            "feeds": self.feeds, "keep": self.kept.__setitem__,
        }  # fmt: skip
        self.seed = seed
        self.result = {"version": tf.__version__, "pieces": [], "kept": {}, "steps": []}

    def build(self):
        for piece in programs.program(self.seed):
            if self.options.target and "# LOCAL" in piece:
                piece = 'steps += ["left out"] * 2'
            try:
                exec(compile(piece, "piece", "exec"), self.namespace)  # pylint: disable=exec-used
                outcome = None
            except Exception as error:  # pylint: disable=broad-except
                outcome = (failure(error), message(error))
                tf.get_default_graph()._set_control_flow_context(None)  # TensorFlow's gradients leave theirs
                if self.options.verbose:
                    print(piece)
                    traceback.print_exc()
            self.result["pieces"].append(outcome)

    def fetch(self, session, thing):
        fetches = fetchable(thing)
        if fetches is None or fetches == []:
            return ("nothing",)
        try:
            value = session.run(fetches, self.feeds)
        except Exception as error:  # pylint: disable=broad-except
            if self.options.verbose:
                traceback.print_exc()
            return (*failure(error), message(error))
        if isinstance(thing, Statistics):
            value = np.asarray(value)
            return ("statistics", value.shape, value.dtype.name, float(np.mean(value)), float(np.std(value)))
        return ("value", plain(value))

    def run(self, session):
        for variable in tf.global_variables() + tf.local_variables():  # some begin with others' values
            session.run(variable.initializer, self.feeds)
        for name, thing in self.kept.items():
            self.result["kept"][name] = (description(thing), None)
        together = {
            k: v
            for k, v in self.kept.items()
            if not isinstance(v, Statistics) and fetchable(v) is not None and fetchable(v) != []
        }
        try:
            values = session.run({k: fetchable(v) for k, v in together.items()}, self.feeds)
            values = {k: ("value", plain(v)) for k, v in values.items()}
        except Exception:  # pylint: disable=broad-except
            values = {k: self.fetch(session, v) for k, v in together.items()}
        for name, thing in self.kept.items():
            value = values[name] if name in values else self.fetch(session, thing)
            self.result["kept"][name] = (description(thing), value)
        for step in self.steps:
            self.result["steps"].append((description(step), self.fetch(session, step)))

    def all(self):
        with tf.Graph().as_default() as graph:
            container = f"program{self.seed}" if self.options.target else ""
            with graph.container(container):
                self.build()
            nodes = [(op.name, op.type) for op in graph.get_operations()]
            config = tf.ConfigProto(operation_timeout_in_ms=20000)
            config.graph_options.rewrite_options.disable_meta_optimizer = True
            with tf.Session(self.options.target or "", config=config) as session:
                self.run(session)
            self.result["nodes"] = nodes
        return self.result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("result")
    parser.add_argument("--target", default="")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("seeds", nargs="*", type=int)
    options = parser.parse_intermixed_args()
    with open(options.result, "wb") as out:
        for seed in options.seeds:
            try:
                result = Run(seed, options).all()
            except Exception:  # pylint: disable=broad-except
                print(f"program {seed}:", flush=True)
                traceback.print_exc()
                result = None
            pickle.dump((seed, result), out)
            out.flush()


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # threads of queues may still wait
