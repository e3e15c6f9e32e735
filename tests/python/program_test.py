# python3 -m braid: a program finds Braid as tensorflow, and is otherwise run as Python runs it.
# timeout: 180
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import support  # noqa: F401, before the others: where the package is

PACKAGE = os.path.abspath(sys.path[0])


class ProgramTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def run_braid(self, *arguments, **more):
        environment = {**os.environ, "PYTHONPATH": PACKAGE, **more}
        return subprocess.run(
            [sys.executable, "-m", "braid", *arguments],
            cwd=self.directory,
            env=environment,
            capture_output=True,
            text=True,
        )

    def write(self, name, text):
        path = self.directory / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return name

    def output(self, *arguments):
        done = self.run_braid(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.splitlines()

    def test_modules_are_one_under_both_names(self):
        code = (
            "import tensorflow as tf, braid.tensorflow, tensorflow.compat.v1 as v1\n"
            "import tensorflow.python.framework.dtypes as a\n"
            "from braid.tensorflow.python.framework import dtypes as b\n"
            "from tensorflow.core.framework import graph_pb2, types_pb2\n"
            "print(tf is braid.tensorflow is v1, a is b, tf.float32 is a.float32, a.__spec__.name)\n"
            "print(tf.GraphDef is graph_pb2.GraphDef, types_pb2.DT_FLOAT, tf.VERSION, bool(tf.__braid__))\n"
        )
        self.assertEqual(
            self.output("-c", code),
            ["True True True braid.tensorflow.python.framework.dtypes", "True 1 1.15.0 True"],
        )

    def test_a_program_sees_what_it_sees_under_python(self):
        text = "import sys; print(sys.argv, sys.path[0], __name__, __file__, __package__, bool(__spec__))"
        self.write("inner/train.py", text)
        self.write("inner/__main__.py", text)
        code = "import sys; print(sys.argv, sys.path[0], __name__)"
        for arguments in (
            ("inner/train.py", "-c", "5"),
            ("inner", "x"),
            ("-m", "inner.train", "x"),
            ("-c", code, "y"),
        ):
            plain = [sys.executable, *arguments]
            expected = subprocess.run(plain, cwd=self.directory, capture_output=True, text=True).stdout
            self.assertEqual(self.run_braid(*arguments).stdout, expected, arguments)

    def test_ends_are_those_of_the_program(self):
        self.assertEqual(self.run_braid("-c", "raise SystemExit(7)").returncode, 7)
        self.assertEqual(self.run_braid("none.py").returncode, 2)
        self.write("fails.py", "def f():\n    raise ValueError('wrong')\nf()\n")
        done = self.run_braid("fails.py")
        self.assertEqual(done.returncode, 1)
        self.assertIn("ValueError: wrong", done.stderr)
        self.assertEqual(done.stderr.count("  File "), 2)  # the program's own
        self.write("syntax.py", "def\n")
        self.assertEqual(self.run_braid("syntax.py").stderr.count("  File "), 1)

    def test_processes_of_the_program_find_it_too(self):
        self.write(
            "parent.py",
            "import multiprocessing, subprocess, sys\n"
            "def name(_):\n"
            "    import tensorflow as tf\n"
            "    return tf.__name__\n"
            "if __name__ == '__main__':\n"
            "    for method in ('spawn', 'forkserver'):\n"
            "        with multiprocessing.get_context(method).Pool(1) as pool:\n"
            "            print(method, pool.map(name, [0]))\n"
            '    code = \'import sys; print("braid" in sys.modules, end=" ")\\n\'\n'
            "    code += 'import tensorflow; print(tensorflow.__name__, \"site\" in sys.path[0])'\n"
            "    subprocess.run([sys.executable, '-c', code], check=True)\n",
        )
        self.assertEqual(
            sorted(self.output("parent.py")),
            ["False braid.tensorflow False", "forkserver ['braid.tensorflow']", "spawn ['braid.tensorflow']"],
        )

    def test_another_tensorflow_is_left_alone_unless_asked(self):
        self.write("tensorflow.py", "__version__ = 'other'\n")
        code = (
            "import tensorflow as tf; print(tf.__version__)\n"
            "import braid, braid.tensorflow\n"
            "try: braid.install()\n"
            "except ImportError: print('refused')\n"
        )
        environment = {**os.environ, "PYTHONPATH": PACKAGE}
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=self.directory, env=environment, capture_output=True, text=True
        )
        self.assertEqual(done.stdout.split(), ["other", "refused"])
        self.assertEqual(
            self.output("-c", "import tensorflow; print(tensorflow.__name__)"), ["braid.tensorflow"]
        )

    def test_programs_find_what_their_time_had(self):
        code = (
            "import collections, numpy as np\n"
            "print(np.float is float, np.zeros(1, np.int).dtype.kind, issubclass(dict, collections.Mapping))\n"
            "import braid.six as six, urllib.parse\n"
            "from braid.six.moves import xrange\n"
            "import braid.six.moves.urllib.parse as parse\n"
            "print(list(xrange(2)), parse is urllib.parse, list(six.iteritems({1: 2})))\n"
            "import io, json, random\n"
            "print(random.sample({7}, 1), random.Random(1).sample({8}, k=1), random.sample(range(1), 1))\n"
            "print(json.loads('[1]', encoding='utf-8'), json.load(io.StringIO('[2]'), encoding='utf-8'))\n"
        )
        expected = ["True i True", "[0, 1] True [(1, 2)]", "[7] [8] [0]", "[1] [2]"]
        self.assertEqual(self.output("-c", code), expected)
        environment = {"BRAID_OLD_NAMES": "0"}
        code = "import numpy as np; print('asscalar' in vars(np))"
        self.assertEqual(self.run_braid("-c", code, **environment).stdout, "False\n")

    def test_what_tensorflow_imports_is_found_in_its_packages(self):
        code = (
            "import multiprocessing, unittest, urllib, xml\n"
            "import tensorflow as tf\n"
            "print(multiprocessing.pool.ThreadPool.__name__, urllib.request.Request.__name__)\n"
            "print(xml.dom.minidom.parseString('<a/>').documentElement.tagName, unittest.mock.call.x(1))\n"
            "import email\n"
            "print(email.utils.formataddr(('a', 'b@c')), hasattr(urllib, 'robotparser'))\n"
        )
        expected = ["ThreadPool Request", "a call.x(1)", "a <b@c> False"]
        self.assertEqual(self.output("-c", code), expected)

    def test_modules_of_tensorflow_lite_are_there_and_refuse_to_be_used(self):
        code = (
            "from tensorflow.lite.python import lite, lite_constants\n"
            "from tensorflow.lite.python.lite import TFLiteConverter\n"
            "for use in (lambda: lite.toco_convert(1), TFLiteConverter, lambda: lite_constants.FLOAT):\n"
            "    try: use()\n"
            "    except (NotImplementedError, AttributeError) as e: print(e)\n"
        )
        why = "is not in Braid. Braid trains; it does not convert models for TensorFlow Lite."
        expected = [
            f"tensorflow.lite.python.lite.toco_convert: tf.lite.python.lite.toco_convert {why}",
            f"tensorflow.lite.python.lite.TFLiteConverter: tf.lite.python.lite {why}",
            f"tensorflow.lite.python.lite_constants.FLOAT: tf.lite.python.lite_constants {why}",
        ]
        self.assertEqual(self.output("-c", code), expected)

    def test_rows_of_different_lengths_make_an_array_of_objects(self):
        code = (
            "import io, numpy as np, tensorflow as tf\n"
            "pairs = np.array(list(zip([np.zeros(3), np.ones(3)], [[0, 1], [1, 0]])))\n"
            "print(np.array([[1, 2], [3]]).tolist(), pairs.shape, np.asarray([[1], []]).dtype)\n"
            "x = tf.placeholder(tf.float32)\n"
            "for make in (lambda: np.array([[1, 2], [3]], float), lambda: tf.constant([[1, 2], [3]]),\n"
            "             lambda: tf.Session().run(x, {x: [[1], []]})):\n"
            "    try: make()\n"
            "    except ValueError: print('refused')\n"
            "for make in (np.array, np.asarray, np.mean):\n"
            "    try: make(x)\n"
            "    except NotImplementedError as e: print(e)\n"
            "print(np.array([x, x]).shape, np.array([1.0, x]).dtype)\n"
            "saved = io.BytesIO()\n"
            "np.savez(saved, [[1.0]], rows=[np.zeros(2), np.ones(1)], more=(1, 2))\n"
            "saved.seek(0)\n"
            "saved = np.load(saved, allow_pickle=True)\n"
            "print(*[saved[name].tolist() for name in saved.files])\n"
        )
        symbolic = "Cannot convert a symbolic Tensor (Placeholder:0) to a numpy array."
        shown = [
            "[[1, 2], [3]] (2, 2) object",
            "refused",
            "refused",
            "refused",
            *[symbolic] * 3,
            "(2,) object",
            "[array([0., 0.]), array([1.])] [1, 2] [[1.0]]",
        ]
        self.assertEqual(self.output("-c", code), shown)

    def test_text_of_attributes_of_hdf5_can_be_decoded(self):
        self.write("h5py/__init__.py", "from h5py._hl import attrs\n")  # as h5py 3 has it
        self.write("h5py/_hl/__init__.py", "")
        self.write(
            "h5py/_hl/attrs.py",
            "import numpy as np\n"
            "class AttributeManager:\n"
            "    VALUES = {'text': 'a', 'array': np.array(['b', 'c'], object), 'number': 1}\n"
            "    def __getitem__(self, name): return self.VALUES[name]\n",
        )
        self.write(
            "reads.py",
            "import h5py._hl.attrs\n"
            "a = h5py._hl.attrs.AttributeManager()\n"
            "print(a['text'].decode('utf8'), a['text'] == 'a', [n.decode() for n in a['array']], a['number'])\n",
        )
        self.assertEqual(self.output("reads.py"), ["a True ['b', 'c'] 1"])

    def test_flags_of_absl_and_tensorflow_are_the_same(self):
        self.write(
            "flags.py",
            "import tensorflow as tf\n"
            "from absl import flags\n"
            "flags.DEFINE_integer('steps', 3, 'how many', lower_bound=1)\n"
            "tf.flags.DEFINE_boolean('sync', False, 'together')\n"
            "def main(argv): print(argv[1:], flags.FLAGS.steps, tf.flags.FLAGS.sync)\n"
            "if __name__ == '__main__': tf.app.run()\n",
        )
        self.assertEqual(
            self.output("flags.py", "--steps=5", "--sync", "--unknown=1", "rest"),
            ["['--unknown=1', 'rest'] 5 True"],
        )
        shown = self.run_braid("flags.py", "--help")
        self.assertEqual(shown.returncode, 1)
        self.assertIn("--[no]sync: together", shown.stdout)


if __name__ == "__main__":
    unittest.main()
