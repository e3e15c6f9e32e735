"""Graphs: names, scopes, devices, control inputs, collections, conversion of values, export and import."""

import contextlib
import unittest

import support
import braid.tensorflow as tf
import numpy as np
from braid.tensorflow.python.autograph.core import ag_ctx
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import gen_array_ops, gen_math_ops, gen_nn_ops


class GraphTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()
        self.graph = tf.get_default_graph()

    def names(self):
        return [op.name for op in self.graph.get_operations()]


class NamesTest(GraphTest):
    def test_names_are_made_unique_without_regard_to_case(self):
        for name in ("a", "a", "A", "a_1"):
            tf.constant(1, name=name)
        self.assertEqual(self.names(), ["a", "a_1", "A_2", "a_1_1"])

    def test_scopes_nest_and_are_entered_again(self):
        with tf.name_scope("s") as scope:
            self.assertEqual(scope, "s/")
            tf.constant(1, name="c")
            with tf.name_scope("t"):
                tf.constant(1, name="c")
        with tf.name_scope("s"):
            tf.constant(1, name="c")
        with tf.name_scope(scope):
            tf.constant(1, name="c")
        with tf.name_scope("s/"), tf.name_scope(None):
            tf.constant(1, name="c")
        self.assertEqual(self.names(), ["s/c", "s/t/c", "s_1/c", "s/c_1", "c"])

    def test_inputs_that_become_constants_are_named_after_their_node(self):
        gen_math_ops.add(tf.constant([1.0]), 2.0, name="sum")
        self.assertEqual(self.names(), ["Const", "sum/y", "sum"])

    def test_a_scope_takes_the_graph_of_its_values(self):
        other = tf.Graph()
        with other.as_default():
            x = tf.constant(1)
        with tf.name_scope("s", values=[x]):
            self.assertIs(tf.get_default_graph(), other)
        self.assertIs(tf.get_default_graph(), self.graph)

    def test_names_that_are_none(self):
        for name in ("-x", "a b", "a:0"):
            with self.assertRaisesRegex(ValueError, "is not a valid"):
                tf.constant(1, name=name)


class ElementsTest(GraphTest):
    def test_tensors_and_operations_are_found_by_name(self):
        a = tf.constant(1, name="a")
        self.assertIs(self.graph.get_tensor_by_name("a:0"), a)
        self.assertIs(self.graph.get_operation_by_name("a"), a.op)
        self.assertIs(self.graph.as_graph_element("a"), a.op)
        for name, error in (("a", ValueError), ("b:0", KeyError), ("a:1", KeyError)):
            with self.assertRaises(error):
                self.graph.get_tensor_by_name(name)
        with self.assertRaisesRegex(KeyError, "refers to an Operation not in the graph"):
            self.graph.get_operation_by_name("b")

    def test_an_operation_tells_its_inputs_attributes_and_consumers(self):
        a = tf.placeholder(tf.float32, [2, None], name="a")
        b = gen_nn_ops.relu(a)
        self.assertEqual(list(b.op.inputs), [a])
        self.assertEqual(a.consumers(), [b.op])
        self.assertEqual(a.op.get_attr("dtype"), tf.float32)
        self.assertEqual(b.shape.as_list(), [2, None])
        with self.assertRaisesRegex(ValueError, "no attr named 'x'"):
            a.op.get_attr("x")
        self.assertEqual(repr(b), "<tf.Tensor 'Relu:0' shape=(2, ?) dtype=float32>")
        self.assertEqual(str(b), 'Tensor("Relu:0", shape=(2, ?), dtype=float32)')

    def test_a_tensor_is_no_condition_and_no_sequence(self):
        a = tf.constant([1])
        with self.assertRaisesRegex(TypeError, "as a Python `bool` is not allowed"):
            bool(a)
        with self.assertRaisesRegex(
            TypeError, "iterating over `tf.Tensor` is not allowed in Graph execution"
        ):
            list(a)
        with ag_ctx.ControlStatusCtx(ag_ctx.Status.ENABLED):
            with self.assertRaisesRegex(TypeError, "AutoGraph did not convert"):
                bool(a)
        with ag_ctx.ControlStatusCtx(ag_ctx.Status.DISABLED):
            with self.assertRaisesRegex(TypeError, "AutoGraph is disabled"):
                list(a)
        for function in (np.mean, np.sum):
            with self.assertRaisesRegex(NotImplementedError, "symbolic Tensor"):
                function(a)

    def test_numpy_makes_arrays_of_objects_of_lists_with_tensors(self):
        a = tf.constant([1])
        array = np.array([[a, 1], [a, 2]])
        self.assertEqual((array.dtype, array.shape), (object, (2, 2)))
        self.assertIs(array[0, 0], a)
        self.assertEqual(np.shape(a), (1,))
        self.assertEqual((np.ones(3, np.int32) + a).shape.as_list(), [3])
        with self.assertRaisesRegex(
            NotImplementedError, r"Cannot convert a symbolic Tensor .* to a numpy array"
        ):
            np.sin(a)

    def test_operators_of_numpy_are_those_of_the_tensor(self):
        x, a = np.array([6, 7], np.int32), tf.constant([4, 2])
        results = {"-": x - a, "//": x // a, "%": x % a, "<": x < a, ">=": x >= a, "scalar": np.int32(9) - a}
        x -= a
        results["-="] = x
        with tf.Session() as session:
            values = {name: value.tolist() for name, value in session.run(results).items()}
        compared = {"<": [False, False], ">=": [True, True]}
        self.assertEqual(
            values, {"-": [2, 5], "//": [1, 3], "%": [2, 1], "scalar": [5, 7], "-=": [2, 5], **compared}
        )
        self.assertIs(np.ones(2) == a, False)

    def test_a_list_of_numbers_and_strings_or_of_tensors_is_no_constant(self):
        for value in ([1, "a"], [tf.constant(1)] * 2, tf.constant(1)):
            with self.assertRaises(TypeError):
                tf.constant(value)

    def test_objects_that_say_how_numpy_takes_them_keep_their_type(self):
        class Column:
            def __array__(self, dtype=None):
                return np.array([1.0, 2.0], dtype)

        class Names:
            __array_interface__ = np.array([b"a", b"bc"]).__array_interface__

        self.assertEqual(tf.constant(Column()).dtype, tf.float64)
        self.assertEqual(tf.constant(Column(), tf.int32).dtype, tf.int32)
        names = tf.constant(Names(), shape=[2, 1])
        self.assertEqual((names.dtype, names.shape.as_list()), (tf.string, [2, 1]))

    def test_a_shape_can_be_made_more_precise_and_not_contradicted(self):
        a = tf.placeholder(tf.float32, [None, 3])
        a.set_shape([2, None])
        self.assertEqual(a.shape.as_list(), [2, 3])
        self.assertEqual(gen_nn_ops.relu(a).shape.as_list(), [2, 3])
        with self.assertRaises(ValueError):
            a.set_shape([4, 3])

    def test_the_private_shape_of_a_tensor_can_be_read(self):
        a = tf.placeholder(tf.float32, [None, 2])
        self.assertEqual(a._shape.as_list(), [None, 2])
        with self.assertRaisesRegex(ValueError, "use Tensor.set_shape"):
            a._shape = tf.TensorShape([1, 2])

    def test_a_finalized_graph_takes_no_nodes(self):
        self.graph.finalize()
        with self.assertRaisesRegex(RuntimeError, "finalized and cannot be modified"):
            tf.constant(1)

    def test_tensors_of_two_graphs_do_not_meet(self):
        with tf.Graph().as_default():
            a = tf.constant(1.0)
        with self.assertRaisesRegex(ValueError, "must be from the same graph"):
            gen_math_ops.add(a, tf.constant(1.0))


class ScopesTest(GraphTest):
    def test_devices_are_merged_and_functions_see_the_node(self):
        with tf.device("/job:ps/task:0"), tf.device("/cpu:0"):
            a = tf.constant(1)
        with tf.device("/job:ps"), tf.device(None):
            b = tf.constant(1)
        with tf.device(lambda op: "/job:ps" if op.type == "Const" else "/job:worker"):
            c = tf.constant(1.0)
            d = gen_nn_ops.relu(c)
        self.assertEqual(
            [t.device for t in (a, b, c, d)],
            ["/job:ps/task:0/device:CPU:0", "", "/job:ps", "/job:worker"],
        )

    def test_device_functions_see_the_shapes_of_what_a_node_will_give(self):
        seen = {}

        def device_of(op):
            seen.update({t.name: (t.dtype, t.get_shape().as_list()) for t in op.outputs})

        with tf.device(device_of):
            a = tf.placeholder(tf.float32, [3, 4], name="a")
            tf.reshape(tf.matmul(a, tf.zeros([4, 2])), [2, 3], name="r")
            tf.Variable(tf.zeros([5, 6]), name="v", use_resource=False)
            tf.get_variable("w", [7], use_resource=True)
            tf.decode_csv(["1,2"], [[0], [0.0]], name="d")
            definition = tf.get_default_graph().as_graph_def()
            tf.import_graph_def(definition, name="i")
        for prefix in ("", "i/"):
            self.assertEqual(seen[prefix + "r:0"], (tf.float32, [2, 3]))
            self.assertEqual(seen[prefix + "d:1"], (tf.float32, [1]))
            self.assertEqual(seen[prefix + "v:0"], (tf.float32._as_ref, [5, 6]))
            self.assertEqual(seen[prefix + "w:0"], (tf.resource, []))
            self.assertEqual(seen[prefix + "w/Read/ReadVariableOp:0"], (tf.float32, [7]))

    def test_an_object_of_a_library_gets_the_device_of_the_scopes(self):
        class Capture:  # Keras 2.3 asks so for the current device
            device = None

            def _set_device_from_string(self, device):
                self.device = tf.DeviceSpec.from_string(device)

        got = []
        for scopes in ([], [""], ["/gpu:1"], ["/job:ps", "/cpu:0"]):
            with contextlib.ExitStack() as stack:
                for scope in scopes:
                    stack.enter_context(tf.device(scope))
                op = Capture()
                tf.get_default_graph()._apply_device_functions(op)
                got.append(op.device and op.device.to_string())
        self.assertEqual(got, [None, None, "/device:GPU:1", "/job:ps/device:CPU:0"])

    def test_colocated_nodes_are_in_one_group(self):
        with tf.device("/job:ps"):
            a = tf.constant(1, name="a")
        with tf.device("/job:worker"), tf.colocate_with(a):
            b = tf.constant(1)
            with tf.colocate_with(None, ignore_existing=True):
                c = tf.constant(1)
        self.assertEqual(b.op.colocation_groups(), [b"loc:@a"])
        self.assertEqual(b.device, "/job:ps")
        self.assertEqual((c.op.colocation_groups(), c.device), ([b"loc:@Const_1"], ""))

    def test_control_inputs_are_left_out_where_an_input_waits_already(self):
        first = tf.no_op(name="first")
        with tf.control_dependencies([first]):
            a = tf.constant(1.0)
            b = gen_nn_ops.relu(a)
            with tf.control_dependencies(None):
                c = tf.constant(1.0)
        self.assertEqual([op.control_inputs for op in (a.op, b.op, c.op)], [[first], [], []])

    def test_attributes_containers_and_gradients_of_scopes(self):
        with self.graph.gradient_override_map({"Relu": "Mine"}):
            a = gen_nn_ops.relu(tf.constant(1.0))
        self.assertEqual(a.op.get_attr("_gradient_op_type"), b"Mine")
        with tf.container("c"):
            v = tf.placeholder(tf.float32)
            q = gen_array_ops.identity(v)
        self.assertNotIn("container", q.op.node_def.attr)

    def test_collections_keep_their_order(self):
        a, b = tf.constant(1, name="x/a"), tf.constant(1, name="b")
        tf.add_to_collection("c", a)
        tf.add_to_collections(["c", "d"], b)
        self.assertEqual(tf.get_collection("c"), [a, b])
        self.assertEqual(tf.get_collection("c", scope="x"), [a])
        tf.get_collection_ref("d").append(a)
        self.assertEqual(tf.get_collection("d"), [b, a])
        self.assertEqual(tf.get_collection("e"), [])


class ConversionTest(GraphTest):
    def test_types_of_python_values(self):
        for value, dtype in (
            (1, tf.int32),
            (2**40, tf.int64),
            (1.5, tf.float32),
            ([True], tf.bool),
            ("a", tf.string),
            (1j, tf.complex128),
            (np.float64(1), tf.float64),
            (np.zeros(2), tf.float64),
            ([np.float64(1)], tf.float32),
            ([[1, 2.5]], tf.float32),
        ):
            self.assertEqual(tf.constant(value).dtype, dtype, value)

    def test_values_that_a_type_does_not_take(self):
        for value, dtype in ((1.5, tf.int32), ("a", tf.float32), (1, tf.string), (None, tf.float32)):
            with self.assertRaises((TypeError, ValueError), msg=value):
                tf.constant(value, dtype)
        with self.assertRaises(ValueError):
            tf.constant([1, [2, 3]])

    def test_a_constant_fills_a_shape(self):
        self.assertEqual(tf.constant(3, shape=[2, 2]).shape.as_list(), [2, 2])
        with self.assertRaises(ValueError):
            tf.constant([1, 2, 3], shape=[2])
        with self.assertRaises(TypeError):
            tf.constant([1, 2], shape=[2, 1], verify_shape=True)
        with self.assertRaisesRegex(TypeError, "Expected Tensor's shape"):
            tf.compat.v2.constant([1, 2], shape=[3])

    def test_a_shape_without_elements_takes_any_python_value(self):
        for value, dtype, expected in [
            (0.5, None, tf.float32),
            (1, None, tf.float32),
            ([[1], [2, 3]], None, tf.float32),
            (1, tf.int64, tf.int64),
            ("a", tf.string, tf.string),
        ]:
            found = tf.constant(value, dtype, shape=[0, 4], verify_shape=True)
            self.assertEqual((found.dtype, found.shape.as_list()), (expected, [0, 4]))
            self.assertEqual(tf.Session().run(found).shape, (0, 4))
        for value in (None, np.ones(3)):
            with self.assertRaises(ValueError):
                tf.constant(value, shape=[0])

    def test_arguments_of_one_type_attribute_must_agree(self):
        with self.assertRaisesRegex(
            TypeError, "'y' of 'Add' Op has type int32 that does not match type float32"
        ):
            gen_math_ops.add(tf.constant(1.0), tf.constant(1))
        with self.assertRaisesRegex(TypeError, "not in list of allowed values"):
            gen_math_ops.exp(tf.constant(1))
        with self.assertRaisesRegex(ValueError, "Dimensions must be equal"):
            gen_math_ops.mat_mul(tf.constant([[1.0, 2.0]]), tf.constant([[1.0]]))

    def test_functions_under_an_ops_own_name_take_keywords(self):
        self.assertEqual(tf.raw_ops.Add(x=1, y=2, name="sum").op.type, "Add")
        self.assertIs(tf.raw_ops.Add, gen_math_ops.Add)
        with self.assertRaisesRegex(
            TypeError, r"only takes keyword args \(possible keys: \['x', 'y', 'name'\]\)"
        ):
            tf.raw_ops.Add(1, 2)

    def test_a_program_registers_a_type(self):
        class Celsius:
            degrees = 3.5

        tf.register_tensor_conversion_function(
            Celsius,
            lambda value, dtype=None, name=None, as_ref=False: tf.constant(value.degrees, dtype, name=name),
        )
        self.assertEqual(tf.convert_to_tensor(Celsius()).dtype, tf.float32)

    def test_what_is_known_of_a_value(self):
        from braid.tensorflow.python.framework import tensor_util

        x = tf.placeholder(tf.float32, [None, 3])
        shape = tf.shape(x)
        self.assertIsNone(tensor_util.constant_value(shape))
        self.assertEqual(tensor_util.constant_value_as_shape(shape).as_list(), [None, 3])
        self.assertEqual(tensor_util.constant_value(tf.rank(x)), 2)

    def test_messages_of_tensors_come_back(self):
        for value in (
            np.arange(6, dtype=np.int16).reshape(2, 3),
            np.array([1.5, -2], np.float16),
            np.array([[b"a", b"\xff"]], object),
            np.array(1 + 2j),
            np.array([True, False]),
            np.zeros((0, 3), np.float32),
        ):
            back = tf.make_ndarray(tf.make_tensor_proto(value))
            self.assertEqual((back.dtype, back.shape), (value.dtype, value.shape))
            self.assertTrue((back == value).all())


class GraphDefTest(GraphTest):
    def test_a_constant_is_written_as_its_values_were_given(self):
        given = {"listed": tf.constant([1, 1, 1]), "filled": tf.constant(1, shape=[3])}
        forms = {"listed": (12, 0), "filled": (0, 1)}
        for _ in range(2):
            for name, x in given.items():
                in_graph = next(n for n in self.graph.as_graph_def().node if n.name == x.op.name)
                for node in in_graph, x.op.node_def:
                    value = node.attr["value"].tensor
                    self.assertEqual((len(value.tensor_content), len(value.int_val)), forms[name])
            self.graph = tf.Graph()
            with self.graph.as_default():
                names = [x.name for x in given.values()]
                read = tf.import_graph_def(given["listed"].graph.as_graph_def(), None, names, name="")
            given = dict(zip(given, read))

    def test_a_graph_comes_back_with_other_inputs(self):
        a = tf.constant([1.0], name="a")
        gen_nn_ops.relu(a, name="b")
        message = self.graph.as_graph_def()
        with tf.Graph().as_default() as g:
            other = tf.constant([-1.0])
            b, op = tf.import_graph_def(message, {"a": other}, ["b:0", "b"], name="imported")
            self.assertEqual((b.name, op.inputs[0]), ("imported/b:0", other))
            self.assertIs(g.get_operation_by_name("imported/a").graph, g)
            with self.assertRaises(ValueError):
                tf.import_graph_def(message, {"zzz": other})

    def test_a_version_exports_what_came_after_it(self):
        tf.constant(1, name="a")
        version = self.graph.version
        tf.constant(1, name="b")
        self.assertEqual([n.name for n in self.graph.as_graph_def(from_version=version).node], ["b"])

    def test_shapes_and_places_of_a_graph_come_back(self):
        with tf.device("/cpu:0"):
            base = tf.placeholder(tf.float32, [None, 2], name="base")
        with tf.colocate_with(base):
            tf.identity(base, name="near")
        graph_def = tf.get_default_graph().as_graph_def(add_shapes=True)
        graph_def.node[0].attr["shape"].shape.unknown_rank = True
        del graph_def.node[0].attr["shape"].shape.dim[:]
        with tf.Graph().as_default():
            base, near = tf.import_graph_def(graph_def, return_elements=["base:0", "near:0"])
            self.assertEqual(base.shape.as_list(), [None, 2])
            self.assertEqual(near.device, "/device:CPU:0")
        del graph_def.node[0]
        with tf.Graph().as_default(), self.assertRaisesRegex(ValueError, "unknown node 'base'"):
            tf.import_graph_def(graph_def, {"base": tf.constant([[1.0, 2.0]])})

    def test_a_graph_of_another_version_is_refused_with_the_version_that_this_is(self):
        for versions, message in (
            ({"producer": -1}, "below min producer 0 supported by TensorFlow 1.15.0.  Please regenerate"),
            ({"min_consumer": 999}, "above current version .* for TensorFlow 1.15.0.  Please upgrade"),
        ):
            with self.assertRaisesRegex(ValueError, message):
                tf.import_graph_def(tf.GraphDef(versions=versions))

    def test_functions_of_a_graph_are_those_of_a_function_that_imports_it(self):
        from braid.tensorflow.python.framework import function

        @function.Defun(tf.float32)
        def double(x):
            return 2 * x

        with tf.Graph().as_default() as inner:
            double(tf.constant(3.0), name="six")

        @function.Defun()
        def imports():
            return tf.import_graph_def(inner.as_graph_def(), return_elements=["six:0"])[0]

        with tf.Session() as session:
            self.assertEqual(session.run(imports()), 6.0)


class CycleTest(GraphTest):
    def test_nodes_in_a_cycle_are_an_error_of_the_run(self):
        a, b = tf.constant(1, name="a"), tf.constant(2, name="b")
        a.op._add_control_input(b.op)
        b.op._add_control_input(a.op)
        with tf.Session() as session:
            for fetch in (a, a.op):
                with self.assertRaisesRegex(
                    tf.errors.InvalidArgumentError, "cycle with 2 nodes, including: a, b"
                ):
                    session.run(fetch)


class SubscribeTest(GraphTest):
    def test_side_effects_run_when_a_tensor_is_used(self):
        from braid.tensorflow.python.framework import subscribe

        seen = []
        a = tf.constant(2.0)
        b = -a
        for name in ("first", "second"):
            made = subscribe.subscribe(
                a, lambda t, name=name: [tf.py_func(lambda x: seen.append((name, x)) or x, [t], tf.float32)]
            )
        self.assertEqual(made.op.type, "Identity")
        with tf.Session() as session:
            self.assertEqual(session.run(b), -2.0)
        self.assertEqual(sorted(seen), [("first", 2.0), ("second", 2.0)])


class GradientsTest(GraphTest):
    def run_(self, fetches):
        with tf.Session() as session:
            return session.run(fetches)

    def test_gradients_of_the_engine_and_of_the_program(self):
        @tf.RegisterGradient("GraphTestTimesTen")
        def times_ten(op, grad):
            return 10 * grad

        x = tf.constant([2.0, -1.0])
        with self.graph.gradient_override_map({"Relu": "GraphTestTimesTen"}):
            y = gen_nn_ops.relu(x) * x
        (grad,) = tf.gradients(y, x)
        self.assertEqual(self.run_(grad).tolist(), [2 + 20.0, -10.0])
        self.assertTrue(grad.op.name.startswith("gradients/"))

    def test_second_order_and_stopped_gradients(self):
        x = tf.constant(3.0)
        y = x * x * x
        (first,) = tf.gradients(y, x)
        (second,) = tf.gradients(first, x)
        z = x * 2.0
        (through,) = tf.gradients(z * z, x, stop_gradients=[z])[0:1]
        self.assertEqual(self.run_([first, second]), [27.0, 18.0])
        self.assertIsNone(through)
        self.assertEqual(self.run_(tf.gradients(tf.constant(1.0), x, unconnected_gradients="zero")), [0.0])

    def test_rows_of_a_gathered_tensor(self):
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        (grad,) = tf.gradients(tf.gather(x, [1, 1]), x)
        self.assertIsInstance(grad, tf.IndexedSlices)
        self.assertEqual(self.run_(tf.convert_to_tensor(grad)).tolist(), [[0, 0], [2, 2]])


if __name__ == "__main__":
    unittest.main()
