# The public names: each one leads to something, and the page of docs about them is that of the sources.
import pathlib
import subprocess
import sys
import tempfile
import unittest

import support
import braid.tensorflow as tf
from braid.tensorflow import _api
from braid.tensorflow import missing
from braid.tensorflow.python.framework import op_def_registry
from braid.tensorflow.python.ops import api_def

ROOT = pathlib.Path(__file__).resolve().parents[2]


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

    def test_each_op_of_the_engine_has_a_function(self):
        there = {e.op for functions in api_def.read_table().values() for e in functions.values()}
        ops = [name for name in op_def_registry.get_registered_ops() if not name.startswith("_")]
        self.assertEqual(
            [name for name in ops if name not in there], [], "add lines to python/ops/api_def.txt"
        )

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
        with self.assertRaisesRegex(NotImplementedError, "tf.Session"):
            tf.function(lambda: None)

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
