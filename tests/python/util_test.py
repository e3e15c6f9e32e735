# Helpers: deprecated names and arguments, decorators that show signatures, sets by identity, tf.logging,
# messages.
import abc
import cmd
import collections
import functools
import gc
import logging
import os
import pickle
import types
import unittest
from unittest import mock

import support  # noqa: F401, before the others: where the package is
import braid.as_tensorflow
import braid.tensorflow as tf

from braid.absl.testing import absltest
from braid.distutils import version
from braid.tensorflow.core.framework import graph_pb2, op_def_pb2, summary_pb2, types_pb2
from braid.tensorflow.core.protobuf import config_pb2, rewriter_config_pb2
from braid.tensorflow.python import pywrap_tensorflow
from braid.tensorflow.python.eager import monitoring
from braid.tensorflow.python.platform import tf_logging
from braid.tensorflow.python.util import compat, deprecation, function_utils, module_wrapper, object_identity
from braid.tensorflow.python.util import tf_contextlib, tf_decorator, tf_inspect


class DeprecationTest(unittest.TestCase):
    def test_a_function_warns_once_and_names_its_caller(self):
        @deprecation.deprecated("2020-01-01", "Use g.")
        def f(a, b=2):
            """Adds."""
            return a + b

        with self.assertLogs("tensorflow", "WARNING") as logs:
            self.assertEqual((f(1), f(2)), (3, 4))
        (text,) = logs.output
        self.assertRegex(
            text, r"util_test.py:\d+: .*f \(from .*\) is deprecated and will be removed after 2020"
        )
        self.assertIn("Use g.", text)
        self.assertEqual((f.__name__, tf_inspect.getfullargspec(f).args), ("f", ["a", "b"]))
        self.assertRaises(ValueError, deprecation.deprecated, "soon", "Use g.")

    def test_an_argument_warns_when_it_is_used(self):
        @deprecation.deprecated_args(None, "Use axis.", "dim", ("keep", None))
        def f(x, axis=None, dim=None, keep=None):
            return axis or dim

        with self.assertLogs("tensorflow", "WARNING") as logs:
            f(1, axis=2, keep=None)
            f(1, None, 3)
            f(1, keep=True)
        self.assertEqual(["with dim" in t for t in logs.output], [True, False])
        lookup = deprecation.deprecated_argument_lookup
        self.assertEqual(lookup("axis", None, "dim", 3), 3)
        self.assertRaisesRegex(ValueError, "both 'dim' and 'axis'", lookup, "axis", 1, "dim", 3)


class ModuleWrapperTest(unittest.TestCase):
    def wrap(self, names={}, **settings):
        module = types.ModuleType("tf_image")
        vars(module).update(names)
        return module, module_wrapper.TFModuleWrapper(module, "image", **settings)

    def test_the_first_use_of_a_name_of_tensorflow_1_warns_up_to_the_limit(self):
        for limit in (1, 0):
            with mock.patch.object(module_wrapper, "_PER_MODULE_WARNING_LIMIT", limit):
                _, wrapper = self.wrap({"resize_area": 1, "resize_bicubic": 2, "pad_to_bounding_box": 3})
                with self.assertLogs("tensorflow", "WARNING") as logs:
                    tf_logging.warning("here")
                    names = wrapper.pad_to_bounding_box, wrapper.resize_area, wrapper.resize_bicubic
                self.assertEqual((names, len(logs.output)), ((3, 1, 2), 1 + limit))
        self.assertIsNone(module_wrapper.get_rename_v2("tf.image.pad_to_bounding_box"))
        self.assertEqual(module_wrapper.get_rename_v2("tf.placeholder"), "tf.compat.v1.placeholder")

    def test_names_are_loaded_at_their_first_use_and_may_be_set(self):
        names = {"cmd": ("", "cmd"), "ABCMeta": ("abc", "ABCMeta"), "lite": ("", "cmd")}
        module, wrapper = self.wrap({"lite": 5}, public_apis=names, deprecation=False, has_lite=True)
        self.assertNotIn("cmd", vars(wrapper))
        self.assertEqual((wrapper.cmd, wrapper.ABCMeta, wrapper.lite), (cmd, abc.ABCMeta, cmd))
        self.assertIs(vars(wrapper)["cmd"], cmd)
        wrapper.cmd, wrapper.more = 1, 2
        self.assertEqual((wrapper.cmd, module.cmd, module.more), (1, 1, 2))
        self.assertEqual(wrapper.__all__, [*names, "more"])
        self.assertEqual(dir(wrapper), sorted([*names, "more"]))
        del wrapper.more
        self.assertFalse(hasattr(wrapper, "more") or hasattr(module, "more"))


class FunctionsTest(unittest.TestCase):
    def test_decorators_come_off_again(self):
        @tf_contextlib.contextmanager
        def scope(name, value=1):
            yield name

        with scope("x") as got:
            self.assertEqual(got, "x")
        self.assertEqual(tf_inspect.getargspec(scope).args, ["name", "value"])
        decorators, target = tf_decorator.unwrap(scope)
        self.assertEqual(
            ([d.decorator_name for d in decorators], target.__name__), (["contextmanager"], "scope")
        )

    def test_arguments_of_a_call(self):
        class Model:
            def call(self, x, y, training=False):
                pass

            def __call__(self, inputs, **more):
                pass

        self.assertEqual(function_utils.fn_args(Model().call), ("x", "y", "training"))
        self.assertEqual(function_utils.fn_args(functools.partial(Model().call, 1, training=True)), ("y",))
        self.assertEqual(function_utils.fn_args(Model()), ("inputs",))
        self.assertEqual([function_utils.has_kwargs(f) for f in (Model(), Model().call)], [True, False])

    def test_text_and_bytes(self):
        self.assertEqual((compat.as_bytes("ä"), compat.as_text(b"\xc3\xa4")), (b"\xc3\xa4", "ä"))
        self.assertRaises(TypeError, compat.as_bytes, 1)
        self.assertEqual((compat.as_str_any(b"x"), compat.as_str_any(3)), ("x", "3"))


class IdentityTest(unittest.TestCase):
    def test_equal_objects_are_told_apart(self):
        a, b = [1], [1]
        members = object_identity.ObjectIdentitySet([a, a])
        self.assertEqual((len(members), a in members, b in members), (1, True, False))
        values = object_identity.ObjectIdentityDictionary()
        values[a], values[b] = "a", "b"
        self.assertEqual((values[a], values[b], list(values)), ("a", "b", [[1], [1]]))

    def test_weak_ones_let_go(self):
        class Thing:
            pass

        members, values = (
            object_identity.ObjectIdentityWeakSet(),
            object_identity.ObjectIdentityWeakKeyDictionary(),
        )
        thing = Thing()
        members.add(thing)
        values[thing] = 1
        self.assertTrue(thing in members and values[thing] == 1)
        del thing
        gc.collect()
        self.assertEqual((len(members), len(values)), (0, 0))


class LoggingTest(unittest.TestCase):
    def test_levels_and_counts(self):
        before = tf_logging.get_verbosity()
        self.addCleanup(tf_logging.set_verbosity, before)
        with self.assertLogs("tensorflow", "INFO") as logs:
            tf_logging.set_verbosity(tf_logging.INFO)
            for i in range(5):
                tf_logging.log_every_n(tf_logging.INFO, "every %d", 2, i)
                tf_logging.log_first_n(tf_logging.WARN, "first %d", 2, i)
                tf_logging.debug("not shown")
        self.assertEqual(
            [r.getMessage() for r in logs.records], ["every 0", "first 0", "first 1", "every 2", "every 4"]
        )
        self.assertEqual({r.filename for r in logs.records}, {"util_test.py"})
        self.assertIs(tf_logging.get_logger(), logging.getLogger("tensorflow"))


class OldTest(unittest.TestCase):
    def test_versions_compare_by_their_numbers(self):
        loose, strict = version.LooseVersion, version.StrictVersion
        self.assertTrue(loose("1.15.0") > "1.4" and loose("1.10") > loose("1.9.1") and loose("1.4") == "1.4")
        self.assertTrue(strict("1.4a2") < strict("1.4") == strict("1.4.0"))
        self.assertRaises(ValueError, strict, "1.x")


class MessagesTest(unittest.TestCase):
    def test_modules_have_messages_enums_and_their_constants(self):
        self.assertEqual((types_pb2.DT_FLOAT, types_pb2.DataType.Name(3)), (1, "DT_INT32"))
        self.assertEqual(config_pb2.RunOptions.FULL_TRACE, 3)
        self.assertEqual(graph_pb2.DESCRIPTOR.name, "tensorflow/core/framework/graph.proto")
        value = summary_pb2.Summary.Value(tag="x", simple_value=1)
        self.assertEqual(summary_pb2.Summary(value=[value]).value[0].simple_value, 1)
        with self.assertRaises(ImportError):
            from braid.tensorflow.core.framework import nothing_pb2  # noqa: F401

    def test_a_configuration_has_all_parts(self):
        config = config_pb2.ConfigProto(allow_soft_placement=True)
        config.gpu_options.allow_growth = True
        config.device_count["CPU"] = 2
        config.graph_options.rewrite_options.constant_folding = rewriter_config_pb2.RewriterConfig.OFF
        config.graph_options.rewrite_options.custom_optimizers.add().name = "mine"
        self.assertEqual(config_pb2.ConfigProto.FromString(config.SerializeToString()), config)
        self.assertEqual(pickle.loads(pickle.dumps(config)), config)


class InsideTest(unittest.TestCase):
    """Modules that libraries import from inside TensorFlow."""

    def test_a_buffer_has_the_definitions_of_all_ops(self):
        ops = op_def_pb2.OpList.FromString(
            pywrap_tensorflow.TF_GetBuffer(pywrap_tensorflow.TF_GetAllOpList())
        )
        self.assertIn("MatMul", [op.name for op in ops.op])

    def test_serialized_graphs_are_compared(self):
        def graph(name, value):
            with tf.Graph().as_default() as made:
                tf.constant(value, name=name)
            return made.as_graph_def().SerializeToString()

        differ = pywrap_tensorflow.EqualGraphDefWrapper
        self.assertEqual(differ(graph("a", 1.0), graph("a", 1.0)), b"")
        self.assertIn(b"Did not find expected node '{{node b}}", differ(graph("a", 1.0), graph("b", 1.0)))
        self.assertIn(b"'a'", differ(graph("a", 1.0), graph("a", 2.0)))
        self.assertEqual(differ(b"zzz", graph("a", 1.0)), b"actual is not a valid serialized GraphDef")
        with self.assertRaisesRegex(TypeError, "expected bytes, str found"):
            differ("", b"")

    def test_structures_are_encoded_as_tensorflow_encodes_them(self):
        from braid.tensorflow.python.saved_model import nested_structure_coder

        coder = nested_structure_coder.StructureCoder()
        pair = collections.namedtuple("Pair", "a b")
        spec = tf.TensorSpec([None, 2], tf.float32, "x")
        value = [pair(-2, [2.5, None, True]), {"k": (tf.int32, spec)}, tf.SparseTensorSpec([3], tf.int64)]
        message = coder.encode_structure(value)
        found = coder.decode_proto(type(message).FromString(message.SerializeToString()))
        self.assertEqual(value, found)
        self.assertEqual(("Pair", ("a", "b")), (type(found[0]).__name__, found[0]._fields))
        # The bytes of TensorFlow 1.15.
        sparse = coder.encode_structure(tf.SparseTensorSpec([None], tf.int64)).SerializeToString()
        self.assertEqual(
            "9202300801121aa203170a10fa010d120b08ffffffffffffffffff010a038002091a1053706172736554656e736f7253706563",
            sparse.hex(),
        )
        self.assertFalse(coder.can_encode(object()))
        with self.assertRaises(nested_structure_coder.NotEncodableError):
            coder.encode_structure([object()])

    def test_centers_near_points_and_skipped_summaries(self):
        from braid.tensorflow.contrib.factorization.python.ops import clustering_ops
        from braid.tensorflow.python.distribute import summary_op_util

        found = clustering_ops.nearest_neighbors([[0.0], [5.0]], [[4.0], [1.0]], 1)
        with tf.Session() as session:
            self.assertEqual([[[1], [0]], [[1.0], [1.0]]], [v.tolist() for v in session.run(found)])
        self.assertFalse(summary_op_util.skip_summary())
        skipped = []
        strategy = tf.distribute.MirroredStrategy(["/device:CPU:0", "/device:CPU:1"])
        with strategy.scope():
            strategy.experimental_run_v2(lambda: skipped.append(summary_op_util.skip_summary()))
        self.assertEqual([False, True], sorted(skipped))

    def test_modules_for_tpus_are_there_and_refuse_by_name(self):
        from tensorflow.contrib.tpu.python.ops import tpu_ops as contrib_ops
        from tensorflow.contrib.tpu.python.tpu import session_support
        from tensorflow.python.tpu import device_assignment, tpu_config, tpu_estimator, tpu_optimizer
        from tensorflow.python.tpu.ops import tpu_ops

        self.assertIs(tpu_config.RunConfig, tf.contrib.tpu.RunConfig)
        self.assertIs(tpu_estimator.TPUEstimator, tf.contrib.tpu.TPUEstimator)
        self.assertIs(tpu_optimizer.CrossShardOptimizer, tf.contrib.tpu.CrossShardOptimizer)
        self.assertIs(contrib_ops.cross_replica_sum, tf.contrib.tpu.cross_replica_sum)
        for name, call in {
            "tpu_ops.all_to_all": tpu_ops.all_to_all,
            "tpu.device_assignment.DeviceAssignment": device_assignment.DeviceAssignment,
            "tpu.session_support.configure": session_support.configure,
        }.items():
            with self.assertRaisesRegex(NotImplementedError, name + ": there are no TPUs"):
                call(1)

        class Mine(device_assignment.DeviceAssignment):
            pass

        self.assertEqual(Mine.__bases__[0].__name__, "DeviceAssignment")

    def test_sessions_of_tests_are_for_the_cpu_unless_asked(self):
        class Case(tf.test.TestCase):
            def runTest(self):
                pass

        case = Case()
        case.setUp()
        self.addCleanup(case.tearDown)
        for sessions in (case.session, case.cached_session, case.test_session):
            for asked, device in (({}, "/device:CPU:0"), ({"use_gpu": True}, "")):
                with tf.Graph().as_default(), sessions(**asked):
                    self.assertEqual(tf.constant(1).device, device)
            case._ClearCachedSession()
            with tf.Graph().as_default(), sessions(force_gpu=True) as session:
                found = tf.constant(1)
                self.assertEqual(found.device, "/device:GPU:0")
                with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "device"):
                    session.run(found)
            case._ClearCachedSession()

    def test_tests_of_both_modes_run_in_a_graph(self):
        ran = []

        class Both(tf.test.TestCase):
            @tf.contrib.eager.run_test_in_graph_and_eager_modes
            def test_it(self):
                ran.append((self.evaluate(tf.constant(3)), tf.contrib.eager.in_eager_mode()))

        @tf.contrib.eager.run_all_tests_in_graph_and_eager_modes
        class AllOfBoth(tf.test.TestCase):
            def test_it(self):
                ran.append((self.evaluate(tf.constant(4)), tf.contrib.eager.in_eager_mode()))

        for case in Both, AllOfBoth:
            case("test_it").debug()
        self.assertEqual(ran, [(3, False), (4, False)])

    def test_assertions_of_abseil(self):
        def fails(message, name, *args):
            with self.assertRaisesRegex(AssertionError, message):
                getattr(case, name)(*args)

        case = tf.test.TestCase("id")
        self.addCleanup(case.doCleanups)
        fails("not equal lhs = \\[1\\]", "assertAllEqual", 1, 2)
        case.assertNotAllEqual(1, 2)
        file = case.create_tempfile("a/b", content="text")
        self.assertEqual((file.read_text(), file.read_bytes()), ("text", b"text"))
        case.create_tempfile("d/old", content=b"x")
        directory = case.create_tempdir("d")
        self.assertEqual(os.listdir(directory), [])
        kept = case.create_tempfile(cleanup=absltest.TempFileCleanup.OFF)
        self.addCleanup(os.remove, kept)
        self.assertEqual(directory.create_file("e/f", "in").read_text(), "in")
        with open(file) as opened:
            self.assertEqual(case.enter_context(opened).read(), "text")
        case.assertCommandSucceeds("echo $A", ["^12"], env={"A": "12"})
        case.assertCommandSucceeds(["/bin/sh", "-c", "exit 0"])
        fails("error code 3", "assertCommandSucceeds", "exit 3")
        case.assertCommandFails("echo no; exit 3", [b"no"])
        fails("succeeded", "assertCommandFails", "exit 0", [""])
        case.assertSameStructure({"a": [1, {2}], "b": True}, {"b": 1, "a": (1, frozenset([2]))})
        fails(
            r"a\['a'\]\[1\] is 2 but b\['a'\]\[1\] is 3", "assertSameStructure", {"a": [1, 2]}, {"a": [1, 3]}
        )
        fails("a lacks .'c'.", "assertSameStructure", {}, {"c": 1})
        fails("is a <class 'str'>", "assertSameStructure", ["1"], [1])
        case.assertJsonEqual('{"a": 1, "b": [2]}', '{"b":[2],"a":1}')
        case.assertContainsExactSubsequence([0, 1, 2, 3], [1, 2])
        fails("not an exact", "assertContainsExactSubsequence", [1, 0, 2], [1, 2])
        case.assertContainsInOrder(["fox", "dog"], "the fox, a dog")
        fails("'fox' after 'dog'", "assertContainsInOrder", ["dog", "fox"], "the fox, a dog")
        case.assertTotallyOrdered([1, 1.0], [2], [3])
        fails("2 is not less than 1", "assertTotallyOrdered", [2], [1])
        case.assertUrlEqual("http://a/b?x=1&y=2", "http://a/b?y=2&x=1")

    def test_monitors_are_hooks_that_know_the_estimator(self):
        monitors = tf.contrib.learn.monitors
        monitor = monitors.ValidationMonitor(input_fn=lambda: None)
        hook = tf.train.StopAtStepHook(3)
        with self.assertRaisesRegex(ValueError, "set_estimator"):
            monitor.begin()
        self.assertEqual(monitors.replace_monitors_with_hooks(None, None), [])
        found = monitors.replace_monitors_with_hooks(
            [monitor, hook], tf.estimator.Estimator(lambda features: None)
        )
        self.assertEqual(found, [monitor, hook])
        monitor.begin()
        with self.assertRaisesRegex(TypeError, "SessionRunHook"):
            monitors.replace_monitors_with_hooks([3], None)

    def test_the_wrapped_engine_tells_the_constants(self):
        known = tf.less(tf.constant(1), 2)
        asked = tf.placeholder(tf.bool, [])
        for tensor, value in ((known, True), (asked, None)):
            graph = tensor.graph._c_graph
            found = pywrap_tensorflow.TF_TryEvaluateConstant_wrapper(graph, tensor._as_tf_output())
            self.assertEqual(found, value)

    def test_metrics_have_cells_for_their_labels(self):
        counter = monitoring.Counter("/test/counter", "Counts.", "kind")
        counter.get_cell("a").increase_by(2)
        counter.get_cell("a").increase_by(3)
        counter.get_cell("b").increase_by(1)
        self.assertEqual([counter.get_cell(x).value() for x in "abc"], [5, 1, 0])
        with self.assertRaisesRegex(ValueError, "expects taking 1 labels"):
            counter.get_cell()
        with self.assertRaises(tf.errors.AlreadyExistsError):
            monitoring.IntGauge("/test/counter", "The name is taken.")
        del counter
        for make, value in (
            (monitoring.IntGauge, 7),
            (monitoring.StringGauge, "left"),
            (monitoring.BoolGauge, True),
        ):
            gauge = make("/test/counter", "Is set.")
            gauge.get_cell().set(value)
            self.assertEqual(gauge.get_cell().value(), value)
            del gauge
        sampler = monitoring.Sampler("/test/sampler", monitoring.ExponentialBuckets(1.0, 2.0, 2), "Samples.")
        for value in 0.5, 1.0, 5.0:
            sampler.get_cell().add(value)
        found = sampler.get_cell().value()
        self.assertEqual((found.min, found.max, found.num, found.sum), (0.5, 5.0, 3, 6.5))
        self.assertEqual(list(found.bucket_limit)[:2], [1.0, 2.0])
        self.assertEqual(list(found.bucket), [1, 1, 1])


if __name__ == "__main__":
    unittest.main()
