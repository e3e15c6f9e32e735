"""What TensorFlow's tests are made with (tf.test.TestCase)."""

import atexit
import collections.abc
import contextlib
import functools
import gc
import math
import os
import random
import re
import shutil
import tempfile
import threading
import unittest

import numpy as np

try:
    from absl.testing import absltest
except ImportError:
    from braid.absl.testing import absltest
from braid import protos
from braid.tensorflow.python.client import session as session_lib
from braid.tensorflow.python.framework import dtypes, equal_graph_def, errors, importer, ops
from braid.tensorflow.python.framework import random_seed, sparse_tensor
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.ops.ragged import ragged_tensor
from braid.tensorflow.python.util import compat, nest
from braid.tensorflow.python.util.protobuf import compare
from braid.tensorflow.python.util.tf_export import tf_export


# ---- What a machine has ----


def IsGoogleCudaEnabled():
    return False


CudaSupportsHalfMatMulAndConv = IsMklEnabled = IsBuiltWithROCm = IsBuiltWithXLA = IsGoogleCudaEnabled
is_xla_enabled = IsGoogleCudaEnabled


def InstallStackTraceHandler():
    pass


def GpuSupportsHalfMatMulAndConv():
    return False


def is_xla_enabled():
    return False


def is_mlir_bridge_enabled():
    return False


@tf_export("test.is_gpu_available")
def is_gpu_available(cuda_only=False, min_cuda_compute_capability=None):
    """Whether a session has a GPU."""
    return False


@tf_export("test.gpu_device_name")
def gpu_device_name():
    return ""


def assert_ops_in_graph(expected_ops, graph):
    """Checks that a graph has nodes: {name: op type}. Returns its NodeDefs by name."""
    actual = {node.name: node for node in graph.as_graph_def().node}
    for name, op_type in expected_ops.items():
        if name not in actual:
            raise ValueError(f"expected ops not found: {name}")
        if actual[name].op != op_type:
            raise ValueError(f"Expected op for node {name} is different. {op_type} vs {actual[name].op}")
    return actual


@tf_export("test.assert_equal_graph_def", v1=["test.assert_equal_graph_def"])
def assert_equal_graph_def(actual, expected, checkpoint_v2=False, hash_table_shared_name=False):
    """AssertionError: two GraphDefs have other nodes, in whatever order."""
    for what in (actual, expected):
        if not isinstance(what, protos.GraphDef):
            raise TypeError(f"Expected tf.GraphDef, got {type(what).__name__}")

    difference = equal_graph_def.difference(actual, expected, checkpoint_v2, hash_table_shared_name)
    if difference:
        raise AssertionError(difference)


assert_equal_graph_def_v1 = assert_equal_graph_def
assert_equal_graph_def_v2 = assert_equal_graph_def


def set_producer_version(graph, producer_version):
    """Sets the version of an empty graph, by an empty GraphDef that has it."""
    from braid.tensorflow.python.framework import importer

    with graph.as_default():
        importer.import_graph_def(protos.GraphDef(versions=protos.VersionDef(producer=producer_version)))


# ---- Decorators ----


def _same(function):
    return function


def _optional_argument(decorator):
    """A decorator that is used with and without arguments."""

    def made(function=None, *args, **kwargs):
        if callable(function):
            return decorator(function)
        return decorator

    return made


def _in_graph(function):
    """A test that runs in a graph of its own."""

    @functools.wraps(function)
    def test(self, *args, **kwargs):
        with ops.Graph().as_default():
            return function(self, *args, **kwargs)

    return test


def run_in_graph_and_eager_modes(
    func=None, config=None, use_gpu=True, reset_test=True, assert_no_eager_garbage=False
):
    """A test, or all of a class, of graphs only, within a session."""

    def decorated(function):
        if isinstance(function, type):
            raise ValueError("`run_in_graph_and_eager_modes` only supports test methods.")

        @functools.wraps(function)
        def test(self, *args, **kwargs):
            if "graph" in getattr(self, "_skip_modes", ()):
                self.skipTest("graph")
            with ops.Graph().as_default(), self.test_session(use_gpu=use_gpu, config=config):
                return function(self, *args, **kwargs)

        return test

    return decorated if func is None else decorated(func)


def run_all_in_graph_and_eager_modes(cls):
    for name in dir(cls):
        value = getattr(cls, name, None)
        others = ("test_session", "testSkipEager", "test_skip_eager")
        if name.startswith("test") and not name.startswith(others) and callable(value):
            setattr(cls, name, run_in_graph_and_eager_modes(value))
    return cls


def run_deprecated_v1(func=None):
    def decorated(function):
        if isinstance(function, type):
            return function

        @functools.wraps(function)
        def test(self, *args, **kwargs):
            return function(self, *args, **kwargs)

        return test

    return decorated if func is None else decorated(func)


deprecated_graph_mode_only = run_deprecated_v1


def run_v1_only(reason="", func=None):
    return _same if func is None else func


def run_v2_only(func=None):
    skip = unittest.skip("needs TensorFlow 2")
    return skip if func is None else skip(func)


def run_gpu_only(func=None):
    skip = unittest.skip("needs a GPU")
    return skip if func is None else skip(func)


run_cuda_only = run_gpu_only
run_all_without_tensor_float_32 = lambda *args: _same


def build_as_function_and_v1_graph(func=None):
    return _same if func is None else func


eager_lazy_remote_copy_on_and_off = with_control_flow_v2 = enable_control_flow_v2 = None
disable_control_flow_v2 = lambda unused=None: _same
enable_output_all_intermediates = _same


def enable_control_flow_v2(func):
    return unittest.skip("control flow by functions")(func)


def enable_all_control_flow_v2(cls):
    return cls


with_control_flow_v2 = enable_all_control_flow_v2


def with_forward_compatibility_horizons(*horizons):
    return _same


def add_graph_building_optimization_tests(cls=None):
    return cls if cls is not None else _same


def disable_all_control_flow_v2(cls):
    return cls


def enable_v2(func):
    return unittest.skip("needs TensorFlow 2")(func)


def enable_tf_xla_constant_folding(description):
    return _same


def disable_xla(description):
    return _same


disable_all_xla = disable_tfrt = disable_mlir_bridge = no_xla_auto_jit = xla_allow_fallback = disable_xla


def xla_compile(*args, **kwargs):
    return _same


def skip_if(condition):
    """Skips a test when the condition (a value or a function) holds."""

    def decorated(function):
        @functools.wraps(function)
        def test(*args, **kwargs):
            if not (condition() if callable(condition) else condition):
                return function(*args, **kwargs)
            return None

        return test

    return decorated


def skip_if_error(test_obj, error_type, messages=None):
    @contextlib.contextmanager
    def scope():
        try:
            yield
        except error_type as error:
            if messages and not any(
                m in str(error) for m in ([messages] if isinstance(messages, str) else messages)
            ):
                raise
            test_obj.skipTest(str(error))

    return scope()


def use_deterministic_cudnn(func):
    return func


def also_run_as_tf_function(func):
    """A test of eager execution, which also runs as a function."""
    return unittest.skip("needs eager execution")(func)


def assert_no_new_pyobjects_executing_eagerly(func=None):
    return _same if func is None else func


def assert_no_new_tensors(func):
    """A decorator: the test, in a graph of its own, leaves no tensor behind. AssertionError: it does."""

    def tensors():
        return [x for x in gc.get_objects() if isinstance(x, ops.Tensor)]

    @functools.wraps(func)
    def test(self, *args, **kwargs):
        gc.collect()
        before = {id(x) for x in tensors()}
        with ops.Graph().as_default():
            func(self, *args, **kwargs)
        gc.collect()
        left = [x for x in tensors() if id(x) not in before]
        if left:
            raise AssertionError(f"{len(left)} Tensors not deallocated after test: {left}")

    return test


def assert_no_garbage_created(func):
    """A decorator: the test makes no objects that refer to each other in a circle. AssertionError: it does."""

    @functools.wraps(func)
    def test(self, *args, **kwargs):
        gc.collect()
        gc.disable()  # what it frees would not be counted
        flags = gc.get_debug()
        gc.set_debug(gc.DEBUG_SAVEALL)
        first = len(gc.garbage)
        try:
            func(self, *args, **kwargs)
            gc.collect()
            found = [type(x).__name__ for x in gc.garbage[first:]]
        finally:
            gc.set_debug(flags)
            del gc.garbage[first:]
            gc.enable()
        if found:
            raise AssertionError(f"Objects in reference cycles after the test: {', '.join(found)}")

    return test


def generate_combinations_with_testcase_name(**kwargs):
    """Dictionaries of all combinations of the arguments' values, each with a name for its test."""
    import itertools

    names = list(kwargs)
    made = []
    for values in itertools.product(*kwargs.values()):
        name = "".join(
            "_{}_{}".format(*("".join(c for c in str(part) if c.isalnum()) for part in pair))
            for pair in zip(names, values)
        )
        made.append({**dict(zip(names, values)), "testcase_name": "_test" + name})
    return made


def for_all_test_methods(decorator, *args, **kwargs):
    def decorated(cls):
        for name in dir(cls):
            value = getattr(cls, name)
            if name.startswith("test") and callable(value) and name != "test_session":
                setattr(cls, name, decorator(*args, **kwargs)(value))
        return cls

    return decorated


def use_deterministic_cudnn(func):
    return func


def with_c_shapes(cls):
    return cls


def enable_c_shapes(func):
    return func


def also_run_as_tf_function(func):
    return func


def py_func_if_in_function(func):
    return func


def set_producer_version(graph, producer_version):
    """Has the graph be one of this version."""
    graph_def = protos.GraphDef()
    graph_def.versions.producer = producer_version
    with graph.as_default():
        importer.import_graph_def(graph_def)


def get_node_def_from_graph(node_name, graph_def):
    """The NodeDef of this name, None if there is none."""
    return next((node for node in graph_def.node if node.name == node_name), None)


def assert_meta_graph_protos_equal(tester, a, b):
    """Two MetaGraphDefs are the same; the messages of collections are compared as such."""
    tester.assertEqual(set(a.collection_def), set(b.collection_def))
    for key, value in a.collection_def.items():
        other = b.collection_def[key]
        tester.assertEqual(value.WhichOneof("kind"), other.WhichOneof("kind"))
        kind = ops.get_collection_proto_type(key)
        if value.WhichOneof("kind") == "bytes_list" and kind:
            for x, y in zip(value.bytes_list.value, other.bytes_list.value):
                compare.assertProtoEqual(tester, kind.FromString(x), kind.FromString(y))
        else:
            tester.assertEqual(value, other)
    without = [protos.MetaGraphDef.FromString(m.SerializeToString()) for m in (a, b)]
    for message in without:
        message.ClearField("collection_def")
    tester.assertProtoEquals(*without)


@contextlib.contextmanager
def use_gpu():
    yield


@contextlib.contextmanager
def force_cpu():
    with ops.device("cpu:0"):
        yield


@contextlib.contextmanager
def device(use_gpu):
    yield


def NHWCToNCHW(input_tensor):
    """The same with channels behind the batch: a tensor, or a list of sizes."""
    order = {4: [0, 3, 1, 2], 5: [0, 4, 1, 2, 3]}
    return _permuted(input_tensor, order)


def NCHWToNHWC(input_tensor):
    order = {4: [0, 2, 3, 1], 5: [0, 2, 3, 4, 1]}
    return _permuted(input_tensor, order)


def _permuted(value, order):
    if isinstance(value, ops.Tensor):
        from braid.tensorflow.python.ops import array_ops

        return array_ops.transpose(value, order[value.shape.ndims])
    return [value[i] for i in order[len(value)]]


class FakeEagerSession:
    pass


class EagerSessionWarner:
    pass


def create_local_cluster(num_workers, num_ps, protocol="grpc", worker_config=None, ps_config=None):
    """Starts servers in this process. Returns the workers' and the parameter servers'."""
    from braid.tensorflow.python.training import server_lib

    import socket

    sockets = [socket.socket() for _ in range(num_workers + num_ps)]
    for s in sockets:
        s.bind(("localhost", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    addresses = [f"localhost:{port}" for port in ports]
    cluster = {"worker": addresses[:num_workers], "ps": addresses[num_workers:]}
    cluster = server_lib.ClusterSpec({job: tasks for job, tasks in cluster.items() if tasks})

    def start(job, count, config):
        return [
            server_lib.Server(
                cluster, job_name=job, protocol=protocol, task_index=i, config=config, start=True
            )
            for i in range(count)
        ]

    return start("worker", num_workers, worker_config), start("ps", num_ps, ps_config)


tf_export("test.create_local_cluster").export_constant(__name__, "create_local_cluster")


# ---- Tests ----


class _CheckedThread:
    """A thread whose exception is that of its join."""

    def __init__(self, testcase, target, args=None, kwargs=None):
        self._testcase, self._target = testcase, target
        self._args, self._kwargs = args or (), kwargs or {}
        self._thread = threading.Thread(target=self._protected_run)
        self._exception = None
        self._joined = False

    def _protected_run(self):
        try:
            self._target(*self._args, **self._kwargs)
        except Exception as error:
            self._exception = error

    def start(self):
        self._thread.start()

    def join(self):
        self._joined = True
        self._thread.join()
        if self._exception is not None:
            self._testcase.fail(f"Error in checkedThread: {self._exception!r}")

    def is_alive(self):
        return self._thread.is_alive()

    def check_termination(self):
        if not self._joined:
            self.join()


class ErrorLoggingSession(session_lib.Session):
    """A session of a test."""


@tf_export("test.TestCase")
class TensorFlowTestCase(absltest.TestCase):
    """A test of graphs: the default graph is new, seeds are fixed, and arrays can be compared."""

    def __init__(self, methodName="runTest"):
        super().__init__(methodName)
        self._threads = []
        self._tempdir = None
        self._cached_session = None

    def setUp(self):
        if self._testMethodName == "test_session":
            self.skipTest("Not a test.")
        super().setUp()
        self._ClearCachedSession()
        random.seed(random_seed.DEFAULT_GRAPH_SEED)
        np.random.seed(random_seed.DEFAULT_GRAPH_SEED)
        ops._default_graph_stack.reset()
        ops.reset_default_graph()
        random_seed.set_random_seed(random_seed.DEFAULT_GRAPH_SEED)

    def tearDown(self):
        for thread in self._threads:
            thread.check_termination()
        self._ClearCachedSession()
        super().tearDown()

    def _ClearCachedSession(self):
        if self._cached_session is not None:
            self._cached_session.close()
            self._cached_session = None

    def get_temp_dir(self):
        """A directory of this test."""
        if self._tempdir is None:
            self._tempdir = tempfile.mkdtemp(dir=_temp_root())
            atexit.register(shutil.rmtree, self._tempdir, True)  # a test may leave the program in it
        return self._tempdir

    # -- Sessions --

    def _create_config(self, config, force_gpu):
        if config is None:
            return protos.ConfigProto(allow_soft_placement=not force_gpu)
        config = protos.ConfigProto.FromString(config.SerializeToString())
        config.allow_soft_placement = config.allow_soft_placement and not force_gpu
        return config

    @contextlib.contextmanager
    def session(self, graph=None, config=None, use_gpu=False, force_gpu=False):
        """A session on a graph, which are the defaults within."""
        with session_lib.Session(graph=graph, config=self._create_config(config, force_gpu)) as session:
            with self._entered(session, use_gpu, force_gpu):
                yield session

    @contextlib.contextmanager
    def cached_session(self, graph=None, config=None, use_gpu=False, force_gpu=False):
        """A session that all uses in one test share. ValueError: they ask for different ones."""
        asked = {"graph": graph, "config": config, "force_gpu": force_gpu}
        self._make_cached_session(asked)
        for what, value in self._cached_session_asked.items():
            if asked[what] is not value and asked[what] != value:
                raise ValueError(
                    f"The {what} used to get the cached session is different than the one that was used to create the "
                    "session. Maybe create a new session with self.session()"
                )
        with self._entered(self._cached_session, use_gpu, force_gpu) as session:
            yield session

    def _make_cached_session(self, asked):
        if self._cached_session is None or self._cached_session._session is None:
            config = self._create_config(asked["config"], asked["force_gpu"])
            self._cached_session = session_lib.Session(graph=asked["graph"], config=config)
            self._cached_session_asked = asked

    @contextlib.contextmanager
    def _entered(self, session, use_gpu, force_gpu):
        """Within, nodes are made for the CPU, for a GPU (`force_gpu`) or for either (`use_gpu`)."""
        with session.graph.as_default(), session.as_default():
            if use_gpu and not force_gpu:
                yield session
            else:
                with session.graph.device("/device:GPU:0" if force_gpu else "/device:CPU:0"):
                    yield session

    @contextlib.contextmanager
    def test_session(self, graph=None, config=None, use_gpu=False, force_gpu=False):
        if graph is None:  # then the shared session, whatever it was made with
            self._make_cached_session({"graph": graph, "config": config, "force_gpu": force_gpu})
            with self._entered(self._cached_session, use_gpu, force_gpu) as session:
                yield session
        else:
            with self.session(graph, config, use_gpu, force_gpu) as session:
                yield session

    def evaluate(self, tensors):
        """The values of tensors, in the default session or the test's."""
        session = ops.get_default_session()
        if session is None:
            with self.test_session() as session:
                return session.run(tensors)
        return session.run(tensors)

    def _eval_tensor(self, tensor):
        return None if tensor is None else self.evaluate(tensor)

    def checkedThread(self, target, args=None, kwargs=None):
        thread = _CheckedThread(self, target, args, kwargs)
        self._threads.append(thread)
        return thread

    @contextlib.contextmanager
    def captureWritesToStream(self, stream):
        """Collects what is written to a stream's descriptor."""
        fd = stream.fileno()
        with tempfile.TemporaryFile() as kept:
            saved = os.dup(fd)
            stream.flush()
            os.dup2(kept.fileno(), fd)
            captured = _Captured(kept, stream)
            try:
                yield captured
            finally:
                stream.flush()
                os.dup2(saved, fd)
                os.close(saved)
                captured.finish()

    # -- Comparisons --

    def _GetNdArray(self, a):
        if not isinstance(a, (ops.Tensor, np.ndarray)) and ragged_tensor.is_ragged(a):
            return np.array(self._rows(a), dtype=object)
        if isinstance(a, (ops.Tensor, variables.Variable)):
            a = self.evaluate(a)
        elif isinstance(a, (list, tuple)) and any(isinstance(x, ops.Tensor) for x in a):
            a = self.evaluate(a)
        if isinstance(a, collections.abc.ValuesView):
            a = list(a)
        if isinstance(a, np.ndarray):
            return a
        try:
            return np.array(a)
        except (
            ValueError
        ):  # rows of several lengths, which numpy made an array of objects in TensorFlow 1's time
            return np.array(a, dtype=object)

    def _rows(self, value):
        """The nested lists of a ragged tensor, an array or a list."""
        if isinstance(value, (ops.Tensor, ragged_tensor.RaggedTensor)):
            value = self.evaluate(value)
        return value.to_list() if hasattr(value, "to_list") else getattr(value, "tolist", lambda: value)()

    def _is_ragged(self, *values):
        return any(hasattr(value, "nested_row_splits") for value in values)

    def _ragged_lists(self, value):
        """(the nested lists of a value, how many of its dimensions are ragged, None where any may be)."""
        if isinstance(value, (ops.Tensor, variables.Variable)) or hasattr(value, "consumers"):
            value = self.evaluate(value)
        if hasattr(value, "to_list"):
            return value.to_list(), value.ragged_rank
        return (value, None) if isinstance(value, list) else (np.array(value).tolist(), 0)

    def _assert_ragged(self, compare, a, b, msg):
        """Compares two values, of which one is ragged, row by row."""
        (a, rank_of_a), (b, rank_of_b) = self._ragged_lists(a), self._ragged_lists(b)
        if None not in (rank_of_a, rank_of_b):
            self.assertEqual(rank_of_a, rank_of_b, msg)
        self._assert_lists(compare, a, b, msg)

    def _assert_lists(self, compare, a, b, msg):
        self.assertEqual(isinstance(a, list), isinstance(b, list), f"{a!r} != {b!r}. {msg or ''}")
        if not isinstance(a, list):
            compare(a, b, msg)
            return
        self.assertEqual(len(a), len(b), f"{a!r} != {b!r}. {msg or ''}")
        for x, y in zip(a, b):
            self._assert_lists(compare, x, y, msg)

    def evaluate_if_both_tensors(self, a, b):
        return a, b

    def assertNear(self, f1, f2, err, msg=None):
        self.assertTrue(
            f1 == f2 or math.fabs(f1 - f2) <= err,
            f"{f1!r} != {f2!r} +/- {err!r}" + (f" ({msg})" if msg else ""),
        )

    def assertArrayNear(self, farray1, farray2, err, msg=None):
        self.assertEqual(len(farray1), len(farray2), msg)
        for f1, f2 in zip(farray1, farray2):
            self.assertNear(float(f1), float(f2), err, msg)

    def _NDArrayNear(self, ndarray1, ndarray2, err):
        return np.linalg.norm(ndarray1 - ndarray2) < err

    def assertNDArrayNear(self, ndarray1, ndarray2, err, msg=None):
        self.assertTrue(self._NDArrayNear(ndarray1, ndarray2, err), msg)

    def _structure(self, a):
        return hasattr(a, "_asdict") or isinstance(a, dict)

    def _all_close(self, a, b, rtol, atol, path, msg):
        where = f"{msg or ''} at {''.join(path) or 'value'}"
        if hasattr(a, "_asdict"):
            a = a._asdict()
        if hasattr(b, "_asdict"):
            b = b._asdict()
        if isinstance(a, dict) or isinstance(b, dict):
            if not (isinstance(a, dict) and isinstance(b, dict)):
                raise ValueError(f"Can't compare dict to non-dict, {a} vs {b}. {where}")
            self.assertEqual(
                sorted(a), sorted(b), f"mismatched keys: expected {sorted(a)}, got {sorted(b)}. {where}"
            )
            for key in a:
                self._all_close(a[key], b[key], rtol, atol, [*path, f"[{key}]"], msg)
            return
        if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
            nested = any(isinstance(x, (list, tuple, dict, np.ndarray)) for x in (*a, *b))
            if nested and not (_is_array(a) and _is_array(b)):
                self.assertEqual(len(a), len(b), where)
                for i, (x, y) in enumerate(zip(a, b)):
                    self._all_close(x, y, rtol, atol, [*path, f"[{i}]"], msg)
                return
        a, b = self._GetNdArray(a), self._GetNdArray(b)
        self.assertEqual(a.shape, b.shape, f"Shape mismatch: expected {a.shape}, got {b.shape}. {where}")
        if a.dtype.names or b.dtype.names:  # bfloat16
            a, b = _numbers(a), _numbers(b)
        if np.allclose(a, b, rtol=rtol, atol=atol):
            return
        try:
            np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=where, equal_nan=True)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{_not_close(a, b, rtol, atol)}") from None

    def assertAllClose(self, a, b, rtol=1e-6, atol=1e-6, msg=None):
        """Two structures of numbers are the same, up to atol + rtol * |b|."""
        if self._is_ragged(a, b):
            self._assert_ragged(lambda x, y, msg: self.assertAllClose(x, y, rtol, atol, msg), a, b, msg)
            return
        if isinstance(a, (ops.Tensor, sparse_tensor.SparseTensor)):
            a = self.evaluate(a)
        self._all_close(a, b, rtol, atol, [], msg)

    def assertAllCloseAccordingToType(
        self,
        a,
        b,
        rtol=1e-6,
        atol=1e-6,
        float_rtol=1e-6,
        float_atol=1e-6,
        half_rtol=1e-3,
        half_atol=1e-3,
        bfloat16_rtol=1e-2,
        bfloat16_atol=1e-2,
        msg=None,
    ):
        a, b = self._GetNdArray(a), self._GetNdArray(b)
        kinds = {a.dtype, b.dtype}
        if kinds & {np.dtype(np.float32), np.dtype(np.complex64)}:
            rtol, atol = max(rtol, float_rtol), max(atol, float_atol)
        if np.dtype(np.float16) in kinds:
            rtol, atol = max(rtol, half_rtol), max(atol, half_atol)
        if any(k.names for k in kinds):
            rtol, atol = max(rtol, bfloat16_rtol), max(atol, bfloat16_atol)
        self.assertAllClose(a, b, rtol=rtol, atol=atol, msg=msg)

    def assertNotAllClose(self, a, b, **kwargs):
        try:
            self.assertAllClose(a, b, **kwargs)
        except AssertionError:
            return
        raise AssertionError(f"The two values are close at all elements {kwargs.get('msg') or ''}")

    def assertAllEqual(self, a, b, msg=None):
        """Two arrays are the same. NaN equals NaN."""
        if self._is_ragged(a, b):
            self._assert_ragged(self.assertAllEqual, a, b, msg)
            return
        a, b = self._GetNdArray(a), self._GetNdArray(b)
        if b.ndim <= 3 or b.size < 500:
            self.assertEqual(
                a.shape, b.shape, f"Shape mismatch: expected {b.shape}, got {a.shape}. {msg or ''}"
            )
        if a.dtype.names or b.dtype.names:
            a, b = _numbers(a), _numbers(b)
        same = a == b
        if a.dtype.kind in "fc":
            same = np.logical_or(
                same, np.logical_and(np.isnan(a), np.isnan(b)) if b.dtype.kind in "fc" else False
            )
        if not np.all(same):
            try:
                np.testing.assert_array_equal(a, b, err_msg=msg or "")
            except AssertionError as error:
                where = np.nonzero(np.atleast_1d(np.logical_not(same)))
                lhs, rhs = np.atleast_1d(a)[where], np.atleast_1d(b)[where]
                differing = f"not equal lhs = {lhs}\nnot equal rhs = {rhs}"
                raise AssertionError(f"{error}\nnot equal where = {where}\n{differing}") from None

    def assertNotAllEqual(self, a, b, msg=None):
        try:
            self.assertAllEqual(a, b, msg)
        except AssertionError:
            return
        raise AssertionError("The two values are equal at all elements")

    def _assert_all(self, a, holds, what):
        a = self._GetNdArray(a)
        if not np.all(holds(a)):
            raise AssertionError(f"not all elements are {what}: {a}")

    def assertAllGreater(self, a, comparison_target):
        self._assert_all(a, lambda x: x > comparison_target, f"> {comparison_target}")

    def assertAllLess(self, a, comparison_target):
        self._assert_all(a, lambda x: x < comparison_target, f"< {comparison_target}")

    def assertAllGreaterEqual(self, a, comparison_target):
        self._assert_all(a, lambda x: x >= comparison_target, f">= {comparison_target}")

    def assertAllLessEqual(self, a, comparison_target):
        self._assert_all(a, lambda x: x <= comparison_target, f"<= {comparison_target}")

    def assertAllInRange(
        self, target, lower_bound, upper_bound, open_lower_bound=False, open_upper_bound=False
    ):
        target = self._GetNdArray(target)
        if target.dtype.kind not in "iuf":
            raise AssertionError(f"{target.dtype} is no type of numbers with an order")
        low = target > lower_bound if open_lower_bound else target >= lower_bound
        high = target < upper_bound if open_upper_bound else target <= upper_bound
        if not np.all(low & high):
            raise AssertionError(
                f"not all elements are in the range {lower_bound} to {upper_bound}: {target}"
            )

    def assertAllInSet(self, target, expected_set):
        self._assert_all(target, lambda x: np.isin(x, list(expected_set)), f"in {expected_set}")

    def assertShapeEqual(self, np_array, tf_tensor, msg=None):
        if not isinstance(np_array, (np.ndarray, np.generic)):
            raise TypeError("np_array must be a Numpy ndarray or Numpy scalar")
        self.assertEqual(np_array.shape, tuple(tf_tensor.get_shape().as_list()), msg)

    def assertDTypeEqual(self, target, expected_dtype):
        target = self._GetNdArray(target)
        self.assertEqual(np.dtype(expected_dtype), target.dtype)

    def assertDeviceEqual(self, device1, device2, msg=None):
        from braid.tensorflow.python.framework import device as pydev

        self.assertEqual(pydev.canonical_name(device1), pydev.canonical_name(device2), msg)

    def assertStartsWith(self, actual, expected_start, msg=None):
        if not actual.startswith(expected_start):
            self.fail(f"{actual!r} does not start with {expected_start!r}" + (f" : {msg}" if msg else ""))

    def assertLen(self, container, expected_len, msg=None):
        self.assertEqual(len(container), expected_len, msg)

    def assertEmpty(self, container, msg=None):
        self.assertEqual(len(container), 0, msg)

    def assertProtoEquals(self, expected_message_maybe_ascii, message, msg=None):
        """A message equals another one, or a text, with numbers rounded to 6 digits behind the point."""
        expected = expected_message_maybe_ascii
        if isinstance(expected, (str, bytes)):
            expected = _parsed(expected, type(message))
        compare.assertProtoEqual(self, expected, message, normalize_numbers=True, msg=msg)

    def assertProtoEqualsVersion(
        self, expected, actual, producer=None, min_consumer=None, bad_consumers=None, msg=None
    ):
        expected = _parsed(expected, type(actual))
        versions = actual.versions if producer is None else None
        if versions is not None:
            expected.versions.CopyFrom(versions)
        self.assertProtoEquals(expected, actual, msg)

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(self, exception_type, expected_err_re_or_predicate):
        """The block raises the exception, and its message matches or the predicate holds."""
        predicate = expected_err_re_or_predicate
        if not callable(predicate):

            def predicate(error):
                text = error.message if isinstance(error, errors.OpError) else str(error)
                op = error.op if isinstance(error, errors.OpError) else None
                while op is not None:
                    text += "\nCaused by: " + op.name
                    op = op._original_op
                return re.search(expected_err_re_or_predicate, text) is not None

        try:
            yield
        except BaseException as error:
            if not isinstance(error, exception_type) or not predicate(error):
                raise AssertionError(f"Exception of type {type(error)}: {error}") from error
            return
        self.fail(f"{exception_type.__name__} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate):
        return self.assertRaisesWithPredicateMatch(errors.OpError, expected_err_re_or_predicate)

    def assertRaisesIncompatibleShapesError(self, exception_type=errors.InvalidArgumentError):
        return self.assertRaisesWithPredicateMatch(
            exception_type, r"Incompatible shapes|Dimensions must be equal|required broadcastable shapes"
        )

    def assertRaisesRegexp(self, exception, regexp, *args, **kwargs):
        return self.assertRaisesRegex(exception, regexp, *args, **kwargs)

    def assertItemsEqual(self, a, b, msg=None):
        self.assertCountEqual(a, b, msg)

    assert_ = unittest.TestCase.assertTrue
    assertEquals = unittest.TestCase.assertEqual


class _Captured:
    """What captureWritesToStream has collected."""

    def __init__(self, file, stream):
        self._file, self._stream, self._text = file, stream, None

    def _read(self):
        self._stream.flush()
        return os.pread(self._file.fileno(), os.fstat(self._file.fileno()).st_size, 0).decode(
            errors="replace"
        )

    def finish(self):
        self._text = self._read()

    def contents(self):
        return self._read() if self._text is None else self._text


def _numbers(array):
    """float32 of an array of bfloat16; others as they are."""
    if array.dtype.names == ("bfloat16",):
        return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return array.view(array.dtype[0]) if array.dtype.names else array


def _parsed(text, kind):
    """The message of a text."""
    from google.protobuf import text_format

    return text_format.Parse(compat.as_str(text), kind(), descriptor_pool=kind.DESCRIPTOR.file.pool)


def _is_array(values):
    """Whether nested lists are those of an array of numbers."""
    try:
        return np.array(values).dtype.kind in "biufc"
    except (NotImplementedError, TypeError, ValueError):  # of tensors, of ragged lists
        return False


def _not_close(a, b, rtol, atol):
    """Where arrays of one shape differ."""
    far = np.logical_not(np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True))
    a, b = (a[far], b[far]) if a.ndim else (a, b)
    where = np.where(far) if far.ndim else ()
    return (
        f"not close where = {where}\nnot close lhs = {a}\nnot close rhs = {b}\nnot close dif = {np.abs(a - b)}\n"
        f"not close tol = {atol + rtol * np.abs(b)}"
    )


def _temp_root():
    root = os.environ.get("TEST_TMPDIR") or os.path.join(tempfile.gettempdir(), f"braid_test_{os.getuid()}")
    os.makedirs(root, exist_ok=True)
    return root
