"""Runs one file of TensorFlow's own tests as `python3 -m braid` does and writes what became of it: a line of
JSON for each event, [EVENT, VALUE...], so that the lines are there when the process ends early.

    ["import_error", MESSAGE]   the file cannot be imported
    ["start", TEST]             a test begins
    ["test", TEST, STATE, TEXT] a test has ended: "passed", "failed" or "skipped"
    ["end"]                     all tests have ended

    one_file.py FILE RESULT [MODULE]

MODULE: braid._native with the ops of TensorFlow's test library (target tensorflow_test_ops).
"""

import importlib
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import traceback
import types
import unittest

HERE = pathlib.Path(__file__).parent
path, result_path = sys.argv[1:3]
native_path = sys.argv[3] if len(sys.argv) > 3 else None
PACKAGES = ("tensorflow_estimator", "tensorflow")
package = next(p for p in pathlib.Path(path).parents if p.name in PACKAGES)
events = open(result_path, "w", buffering=1)


def write(*event):
    events.write(json.dumps(event) + "\n")


def message(error):
    kind, value, trace = error
    places = [f"{os.path.basename(f.filename)}:{f.lineno}" for f in traceback.extract_tb(trace)]
    return f"{kind.__name__}: {value}"[:400] + " @" + ",".join(places[-2:])


class Result(unittest.TestResult):
    def record(self, test, state, text=""):
        write("test", test.id().replace("__main__.", ""), state, text)

    def startTest(self, test):
        write("start", test.id().replace("__main__.", ""))
        super().startTest(test)

    def addSuccess(self, test):
        self.record(test, "passed")

    def addFailure(self, test, error):
        self.record(test, "failed", message(error))

    addError = addFailure

    def addSkip(self, test, reason):
        self.record(test, "skipped", reason)

    def addExpectedFailure(self, test, error):
        self.record(test, "passed")

    def addSubTest(self, test, subtest, error):
        if error:
            self.record(subtest, "failed", message(error))


# Modules that files import for some of their tests, which fail: the others run.
ABSENT = re.compile(
    r"""tensorflow\.python\.(
        distribute\.distribute_coordinator
        | eager\.(execution_callbacks|lift_to_graph)
        | framework\.(
            auto_control_deps | c_api_util | cpp_shape_inference_pb2 | error_interpolation
            | function_def_to_graph | graph_to_function_def | kernels
        )
        | grappler(\..*)?
        | keras\.engine\.training_generator
        | ops\.(cond_v2|while_v2)
        | ops\.linalg\.(cholesky|matmul|solve)_registrations
        | profiler\.traceme
    )""",
    re.VERBOSE,
)


# Modules that tests share: the source tree has them.
SHARED = re.compile(
    r"""tensorflow\.python\.(
        .*(_test_util|testing_utils|_test_base)
        | debug\.lib\.session_debug_testlib
        | debug\.cli\.cli_test_utils
        | data\.(experimental\.)?kernel_tests(\..*)?
        | distribute\.(combinations|strategy_combinations)
        | framework\.(test_)?combinations
        | keras\.keras_parameterized
        | keras\.layers\.preprocessing\.preprocessing_test_utils
        | keras\.mixed_precision\.experimental\.test_util
        | kernel_tests(\..*)?
        | ops\.parallel_for\.test_util
        | estimator\.(head\.head_utils|hooks\.fake_summary_writer|canned\.v1|canned\.v1\..*_utils_v1)
        | training\.saver_test_utils
    )
    | tensorflow\.contrib\.(
        constrained_optimization\.python\.test_util
        | labeled_tensor\.python\.ops\.test_util
        | timeseries\.(examples(\..*)? | python\.timeseries\.(state_space_models\.)?test_utils)
    )""",
    re.VERBOSE,
)


# Tests whose names say that they are of eager execution, or of TensorFlow 2's rules.
EAGER = re.compile(r"_mode_eager(_|$)|_tfapiversion_2(_|$)|_v2_(eager|funcgraph|function)(_|$)")


class Absent(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        within = f"{self.__name__}.{name}"
        if ABSENT.fullmatch(within.removeprefix("braid.")):  # of a package that is not there
            return importlib.import_module(within)
        if name[0].isupper():  # a class, which decorators of tests may name
            return Absent(within)
        self()

    def __call__(self, *args, **kwargs):
        raise NotImplementedError(f"{self.__name__.removeprefix('braid.')} is not in Braid")


class Helpers:
    """Finds modules that tests share, as tensorflow.python.kernel_tests.random.util, in the source tree."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        parts = name.split(".")[name.startswith("braid.") :]
        braid = pathlib.Path(sys.modules["braid"].__file__).parent
        if parts[0] != "tensorflow" or braid.joinpath(*parts).with_suffix(".py").exists():
            return None
        if ABSENT.fullmatch(".".join(parts)):
            return importlib.machinery.ModuleSpec(name, Helpers, is_package=True)
        if name.startswith("braid.") and SHARED.fullmatch(".".join(parts)):
            places = [str(package.with_name(p).joinpath(*parts[1:-1])) for p in PACKAGES]
            return importlib.machinery.PathFinder.find_spec(name, places, target)
        return None

    @staticmethod
    def create_module(spec):
        return Absent(spec.name)

    @staticmethod
    def exec_module(module):
        pass


class TestMessages:
    """Finds modules of messages that are made for tests, as compare_test_pb2, by protoc from their .proto files."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        parts = name.removeprefix("braid.").split(".")
        source = package.with_name(parts[0]).joinpath(*parts[1:]).with_suffix("").as_posix()
        proto = pathlib.Path(source.removesuffix("_pb2") + ".proto")
        if not name.endswith("_test_pb2") or not proto.exists():
            return None
        made = tempfile.mkdtemp(dir=os.environ["TEST_TMPDIR"])
        subprocess.run(["protoc", f"-I{proto.parent}", f"--python_out={made}", str(proto)], check=True)
        return importlib.util.spec_from_file_location(name, f"{made}/{parts[-1]}.py")


class TestOps:
    """Finds tensorflow.python.framework.test_ops, which has a function for each op of the test library."""

    NAME = re.compile(r"(braid\.)?tensorflow\.python\.framework\.test_ops")

    @staticmethod
    def find_spec(name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, TestOps) if TestOps.NAME.fullmatch(name) else None

    @staticmethod
    def create_module(spec):
        from braid.tensorflow.python.framework import op_def_library
        from braid.tensorflow.python.ops import api_def, gen_ops

        if native_path is None:
            return Absent(spec.name)
        names = re.findall(r"^BD_OP\((\w+)\)", HERE.joinpath("test_ops.c").read_text(), re.M)
        entries = [api_def.Entry(name) for name in names]
        module = gen_ops._Module(spec.name)
        module.__dict__["_functions"] = {entry.function: entry for entry in entries}
        module._op_def_lib = op_def_library.OpDefLibrary()
        return module

    @staticmethod
    def exec_module(module):
        pass


def begin():
    """Has programs find Braid, with the ops of TensorFlow's test library."""
    if native_path is not None:
        spec = importlib.util.spec_from_file_location("braid._native", native_path)
        sys.modules["braid._native"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["braid._native"])
    from braid import as_tensorflow

    os.environ.update(as_tensorflow.child_environment())


def refuse_in_the_call(function):
    """Has tf.function refused by the functions that it makes: files decorate some when they are imported."""

    def decorate(*given, **options):
        if not given:
            return decorate
        return lambda *args, **kwargs: function(*given, **options)

    return decorate


def id_without_spaces(function):
    """Names tests as absl-py of TensorFlow 1's time does: tests make names of scopes from theirs."""
    return lambda test: function(test).replace(" (", "(")


def take_ragged_rows(names):
    """Has numpy make arrays of objects of rows of several lengths, as it did in TensorFlow 1's time.

    names: the global names of the code whose calls do this."""
    import numpy as np

    def taking(function, array):
        def call(rows, *args, **kwargs):
            try:
                return function(rows, *args, **kwargs)
            except ValueError as error:
                if "inhomogeneous" not in str(error) or sys._getframe(1).f_globals is not names:
                    raise
                return function(array(rows, dtype=object), *args, **kwargs)

        return call

    np.array, np.ndim = taking(np.array, np.array), taking(np.ndim, np.array)


def load():
    """The tests of the file. It is run as a program is, because some make tests of their own at the end."""
    sys.meta_path[:0] = [Helpers, TestMessages, TestOps]
    from absl.testing import parameterized
    from tensorflow.python.eager import def_function
    from tensorflow.python.framework import ops

    def_function.function = refuse_in_the_call(def_function.function)
    parameterized.TestCase.id = id_without_spaces(parameterized.TestCase.id)
    ops.enable_eager_execution = lambda *args, **kwargs: None  # tests of graphs in the file run all the same
    unittest.main = lambda *args, **kwargs: None
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    module.__file__ = path
    take_ragged_rows(module.__dict__)
    exec(compile(pathlib.Path(path).read_bytes(), path, "exec"), module.__dict__)
    return unittest.TestSuite(
        test
        for tests in unittest.defaultTestLoader.loadTestsFromModule(module)
        for test in tests
        if not EAGER.search(test.id())
    )


begin()
sys.argv = [path]
os.environ["TEST_SRCDIR"] = str(package.with_name("tensorflow"))  # for files that tests read
try:
    suite = load()
except BaseException as error:
    write("import_error", f"{type(error).__name__}: {error}"[:300])
else:
    suite.run(Result())
    write("end")
os._exit(0)  # threads of tests may still run
