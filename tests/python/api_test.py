# The public names: each one leads to something, has TensorFlow 1.15's arguments, and the page of docs about
# them is that of the sources.
import ast
import copy
import inspect
import operator
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest

import support
import braid.as_tensorflow
import braid.tensorflow as tf
from braid.tensorflow import _api
from braid.tensorflow import missing
from braid.tensorflow.python.framework import op_def_registry
from braid.tensorflow.python.ops import api_def

ROOT = pathlib.Path(__file__).resolve().parents[2]


def difference(expected, name):
    """How the arguments of a public name differ from ast.arguments, in words; None: they do not."""
    value = tf
    for part in name.split("."):
        value = getattr(value, part)
    have = list(inspect.signature(value).parameters.values())
    if any(p.kind is p.VAR_POSITIONAL for p in have):
        return None if expected.vararg or _is_made_by_another(name) else "takes any arguments"
    have = [p for p in have if p.kind is p.POSITIONAL_OR_KEYWORD]
    none = inspect.Parameter.empty
    defaults = [none] * (len(expected.args) - len(expected.defaults)) + expected.defaults
    for i, (argument, default) in enumerate(zip(expected.args, defaults)):
        if i >= len(have) or have[i].name != argument.arg:
            return f"argument {i} is not {argument.arg}"
        if default is not none:
            text = ast.unparse(default)
            if text != "..." and not same(eval(text, {"tf": tf}), have[i].default):
                return f"{argument.arg} is {have[i].default!r}, not {text}"
    return next((f"needs {p.name}" for p in have[len(expected.args) :] if p.default is none), None)


def _is_made_by_another(name):
    """Whether a class is not called by its own arguments: its metaclass, __new__ or module does it."""
    return name.startswith("errors.") or name in ("Variable", "keras.metrics.Metric", "layers.Layer")


def same(a, b):
    return a == b and (a is None) == (b is None) and isinstance(a, bool) == isinstance(b, bool)


class ApiTest(unittest.TestCase):
    def test_each_public_name_is_found(self):
        not_found = []
        for name in _api.NAMES:
            value = tf
            try:
                for part in name.split("."):
                    value = getattr(value, part)
            except Exception as error:
                not_found.append(f"tf.{name}: {error}")
        self.assertEqual(not_found, [])

    def test_arguments_are_those_of_1_15_in_their_order(self):
        wrong = []
        for line in (ROOT / "tests/data/python_signatures.txt").read_text().splitlines():
            if line.startswith("#"):
                continue
            names, _, arguments = line.partition(" (")
            expected = ast.parse(f"def f({arguments}: pass").body[0].args
            for name in names.split():
                if name in _api.NAMES:
                    found = difference(expected, name)
                    if found:
                        wrong.append(f"{name}: {found}")
        self.assertEqual(wrong, [])

    def test_classes_and_constants_are_related_as_in_1_15(self):
        self.assertTrue(issubclass(tf.keras.layers.Layer, tf.Module))
        self.assertTrue(issubclass(tf.layers.Layer, tf.Module))
        self.assertIs(tf.string.as_numpy_dtype, object)
        self.assertIs(tf.bool.as_numpy_dtype, bool)

    def test_a_star_import_takes_the_public_names(self):
        for module, some in {
            "tensorflow": ("GraphKeys", "Session", "contrib", "nn"),
            "tensorflow.compat.v1": ("GraphKeys", "placeholder", "train"),
            "tensorflow.keras.layers": ("Dense", "LSTM"),
            "tensorflow.nn": ("relu", "rnn_cell"),
            "tensorflow.compat.v2": ("Variable", "keras", "nn"),
            "tensorflow.compat.v2.keras.layers": ("Dense",),
        }.items():
            taken = {}
            exec(f"from {module} import *", taken)
            del taken["__builtins__"]
            self.assertEqual([name for name in some if name not in taken], [], module)
            self.assertEqual([name for name in taken if name.startswith("_")], [], module)

    def test_modules_have_their_names_in_their_dictionaries(self):
        self.assertEqual(tf.logging.__dict__["DEBUG"], 10)
        self.assertIs(vars(tf.nn)["relu"], tf.nn.relu)

    def test_modules_are_pickled_as_names(self):
        """As cloudpickle expects, by which Spark sends functions to other processes."""
        from braid.tensorflow.python.ops import gen_math_ops

        for module in (
            tf.train,
            tf.keras.layers,
            tf.raw_ops,
            tf.compat.v2.math,
            gen_math_ops,
        ):
            self.assertIs(pickle.loads(pickle.dumps(module)), module)
        self.assertIs(pickle.loads(pickle.dumps(tf.raw_ops.Placeholder)), tf.raw_ops.Placeholder)

    def test_messages_and_their_classes_are_pickled_as_names(self):
        for message in (
            tf.train.Example(),
            tf.AttrValue(i=3),
            tf.AttrValue.ListValue(i=[3]),
            tf.Summary.Value(tag="a"),
        ):
            made = type(message)
            found = operator.attrgetter(made.__qualname__)(sys.modules[made.__module__])
            self.assertIs(found, made, "where cloudpickle looks for it")
            self.assertIs(pickle.loads(pickle.dumps(made)), made)
            self.assertEqual(pickle.loads(pickle.dumps(message)), message)
            self.assertEqual(copy.deepcopy(message), message)

    def test_each_op_of_the_engine_has_a_function(self):
        there = {e.op for functions in api_def.read_table().values() for e in functions.values()}
        ops = [name for name in op_def_registry.get_registered_ops() if not name.startswith("_")]
        self.assertEqual(
            [name for name in ops if name not in there], [], "add lines to python/ops/api_def.txt"
        )

    def test_the_package_of_modules_has_those_of_its_folders(self):
        from braid.tensorflow import python
        from braid.tensorflow.python import Graph, keras, math_ops, ops, reduce_sum
        from braid.tensorflow.python.framework import constant_op, ops as framework_ops
        from braid.tensorflow.python.ops import math_ops as by_its_folder

        self.assertIs(math_ops, by_its_folder)
        self.assertIs(ops.convert_to_tensor, tf.convert_to_tensor)
        self.assertFalse(hasattr(ops, "dtypes"))
        shape = constant_op._tensor_shape_tensor_conversion_function(tf.TensorShape([2, 3]))
        self.assertEqual((shape.op.name, shape.shape.as_list()), ("shape_as_tensor", [2]))
        self.assertIs(framework_ops._as_graph_element(shape), None)
        variable = tf.Variable(1.0)
        self.assertIs(framework_ops._as_graph_element(variable), variable._as_graph_element())
        self.assertIs(keras.layers.Dense, tf.keras.layers.Dense)
        self.assertEqual((Graph, reduce_sum), (tf.Graph, math_ops.reduce_sum))
        self.assertEqual([name for name in python._MODULES if not hasattr(python, name)], [])
        with self.assertRaisesRegex(ImportError, "cannot import name 'none'"):
            from braid.tensorflow.python import none

    def test_a_name_that_is_not_there_says_so(self):
        with self.assertRaisesRegex(AttributeError, "tf.lite is not in Braid"):
            tf.lite
        with self.assertRaisesRegex(AttributeError, "Similar names: .*tf.matmul"):
            tf.matmull
        for package in (
            "framework",
            "layers",
            "learn",
            "metrics",
            "opt",
            "rnn",
            "slim",
            "training",
            "distribute",
        ):
            with self.assertRaisesRegex(AttributeError, f"tf.contrib.{package}.none is not in Braid"):
                getattr(getattr(tf.contrib, package), "none")
        for name in ("TPUStrategy", "initialize_tpu_system"):
            with self.assertRaisesRegex(
                AttributeError, f"contrib.distribute.{name} is not in Braid. Braid has no TPUs"
            ):
                getattr(tf.contrib.distribute, name)
        with self.assertRaisesRegex(
            AttributeError, "tf.contrib.tensorrt is not in Braid. Braid runs models itself"
        ):
            tf.contrib.tensorrt
        with self.assertRaisesRegex(NotImplementedError, "tf.Session"):
            tf.function(lambda: None)

    def test_imports_of_what_contrib_has_not_say_what_to_use(self):
        for line in ("from tensorflow.contrib import tensorrt", "import tensorflow.contrib.tensorrt as trt"):
            with self.assertRaisesRegex(
                ModuleNotFoundError,
                "No module named 'tensorflow.contrib.tensorrt': tf.contrib.tensorrt is not in Braid. Braid runs models",
            ):
                exec(line)
        with self.assertRaisesRegex(ImportError, "tf.contrib.layers.none is not in Braid"):
            exec("from tensorflow.contrib.layers import none")
        self.assertFalse(hasattr(tf.contrib, "tensorrt"))
        for line in ("tf.contrib.cloud.configure_gcs", "from tensorflow.contrib.cloud import BigQueryReader"):
            with self.assertRaisesRegex(
                (AttributeError, ImportError),
                "contrib.cloud is not in Braid. Braid reads neither gs:// nor BigQuery",
            ):
                exec(line)

    def test_ops_of_tpus_are_refused_when_they_are_called(self):
        from braid.tensorflow.contrib.tpu.python.ops import tpu_ops

        with self.assertRaisesRegex(NotImplementedError, "tpu_ops.tpu_replicated_input: there are no TPUs"):
            tpu_ops.tpu_replicated_input([0, 1])
        with tf.Graph().as_default(), tf.Session() as session:
            self.assertEqual(session.run(tpu_ops.cross_replica_sum(tf.constant(3))), 3)

    def test_a_library_of_ops_that_is_not_there_is_not_found(self):
        with tempfile.TemporaryDirectory() as scratch:
            for name in ("none.so", os.path.join(scratch, "none.so")):
                for load in (tf.load_op_library, tf.load_file_system_library):
                    for path in (name, name.encode()):
                        with self.assertRaisesRegex(tf.errors.NotFoundError, f"^{name}: cannot open shared"):
                            load(path)
                with self.assertRaisesRegex(OSError, "file or folder to load kernel libraries from"):
                    tf.load_library(name)
            library = os.path.join(scratch, "ops.so")
            open(library, "wb").close()
            for load in (tf.load_op_library, tf.load_library, tf.load_file_system_library):
                with self.assertRaisesRegex(NotImplementedError, "ops.so: tf.load_.* is not in Braid"):
                    load(library)

    def test_each_name_of_1_15_that_is_not_there_says_what_to_do(self):
        absent = [n for n in missing.names_of_1_15() if n not in _api.NAMES and not n.startswith("raw_ops.")]
        self.assertEqual([n for n in absent if missing.refusal(n) is None], [])
        for name in absent:
            value = tf
            with self.assertRaisesRegex((AttributeError, NotImplementedError), "not in Braid. .", msg=name):
                for part in name.split("."):
                    value = getattr(value, part)

    def test_the_page_of_names_is_that_of_the_sources(self):
        with tempfile.TemporaryDirectory() as scratch:
            page = pathlib.Path(scratch) / "page.md"
            subprocess.run([sys.executable, "-B", ROOT / "tools/python_api.py", "--page", page], check=True)
            self.assertTrue(
                page.read_text() == (ROOT / "docs/python-api.md").read_text(),
                "write it anew: tools/python_api.py --page docs/python-api.md",
            )


if __name__ == "__main__":
    unittest.main()
