"""Variables: what nodes they are, how they are named and shared, what initializes, reads and writes them."""

import operator
import unittest

import support
import braid.tensorflow as tf
import numpy as np
from braid.tensorflow.python.ops import variable_scope, variables


class VariablesTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()

    def nodes(self, *prefixes):
        """[(name, op)] of the nodes of the graph."""
        return [
            (op.name, op.type)
            for op in tf.get_default_graph().get_operations()
            if not prefixes or op.name.startswith(prefixes)
        ]

    def run_after_initialization(self, *fetches):
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            results = [session.run(fetch) for fetch in fetches]
        return results[0] if len(results) == 1 else results


class VariableTest(VariablesTest):
    def test_a_variable_fetched_beside_its_update_has_the_value_after_it(self):
        with tf.Graph().as_default(), tf.Session() as session:
            x, steps = tf.Variable([1.0, 1.0]), tf.Variable(0)
            loss = tf.reduce_sum(x * x)
            train = tf.train.GradientDescentOptimizer(0.25).minimize(loss, steps)
            assign = x.assign([3.0, 3.0])
            session.run(tf.global_variables_initializer())
            _, step, read, value = session.run([train, steps, steps.value(), x])
            self.assertEqual((step, read), (1, 1))
            np.testing.assert_array_equal(value, [0.5, 0.5])
            after, _ = session.run([x, assign])
            np.testing.assert_array_equal(after, [3, 3])
            session.run(train)
            np.testing.assert_array_equal(after, [3, 3])  # later steps do not change it

    def test_a_variable_is_a_node_with_an_initial_value_an_assignment_and_a_read(self):
        v = tf.Variable([1.0, 2.0], name="v")
        self.assertEqual(
            self.nodes(),
            [
                ("v/initial_value", "Const"),
                ("v", "VariableV2"),
                ("v/Assign", "Assign"),
                ("v/read", "Identity"),
            ],
        )
        self.assertEqual(v.initializer.colocation_groups(), [b"loc:@v"])
        self.assertEqual(str(v), "<tf.Variable 'v:0' shape=(2,) dtype=float32_ref>")
        self.assertEqual((v.name, v.op.name, v.dtype.base_dtype), ("v:0", "v", tf.float32))
        self.assertEqual((tf.global_variables(), tf.trainable_variables()), ([v], [v]))

    def test_a_resource_variable_is_a_handle(self):
        v = tf.Variable([1.0, 2.0], name="v", use_resource=True)
        self.assertEqual(
            self.nodes(),
            [
                ("v/Initializer/initial_value", "Const"),
                ("v", "VarHandleOp"),
                ("v/IsInitialized/VarIsInitializedOp", "VarIsInitializedOp"),
                ("v/Assign", "AssignVariableOp"),
                ("v/Read/ReadVariableOp", "ReadVariableOp"),
            ],
        )
        added = v.assign_add([1.0, 1.0])
        row = tf.gather(v, [1])
        self.assertEqual(v.shape.as_list(), [2])
        after, gathered = self.run_after_initialization(added, row)
        np.testing.assert_array_equal(after, [2, 3])
        np.testing.assert_array_equal(gathered, [3])

    def test_the_base_class_makes_resources(self):
        from braid.tensorflow.python.ops import resource_variable_ops, variables

        self.assertIsInstance(variables.Variable(1.0), resource_variable_ops.ResourceVariable)
        self.assertNotIsInstance(tf.Variable(1.0), resource_variable_ops.ResourceVariable)

    def test_writes_return_the_variable_after_them(self):
        for use_resource in False, True:
            tf.reset_default_graph()
            v = tf.Variable(np.ones([3, 2], np.float32), use_resource=use_resource)
            rows = tf.IndexedSlices(tf.constant([[5.0, 5.0]]), tf.constant([1]))
            results = self.run_after_initialization(
                v.assign(tf.zeros([3, 2])),
                v.scatter_add(rows),
                tf.scatter_update(v, [0], [[1.0, 2.0]]),
                v[2:].assign([[7.0, 8.0]]),
                v.assign_sub(tf.ones([3, 2])),
            )
            np.testing.assert_array_equal(results[1], [[0, 0], [5, 5], [0, 0]])
            np.testing.assert_array_equal(results[3], [[1, 2], [5, 5], [7, 8]])
            np.testing.assert_array_equal(results[4], [[0, 1], [4, 4], [6, 7]])

    def test_operators_in_place_of_reference_variables_alone_give_tensors(self):
        values = []
        for resource in False, True:
            for name in "iadd", "isub", "imul", "itruediv", "ipow":
                v = tf.Variable(3.0, use_resource=resource)
                call = getattr(operator, name)
                if resource:
                    with self.assertRaisesRegex(RuntimeError, "^Variable .+ value not supported. Use "):
                        call(v, 2.0)
                else:
                    values.append(call(v, 2.0))
        self.assertTrue(all(isinstance(x, tf.Tensor) for x in values))
        self.assertEqual(self.run_after_initialization(values), [5.0, 1.0, 6.0, 1.5, 9.0])

    def test_each_operator_in_place_of_a_reference_variable_warns_once(self):
        v = tf.Variable(3.0, use_resource=False)
        variables._warned_of.clear()
        with self.assertLogs("tensorflow", "WARNING") as logs:
            for call in (operator.iadd, operator.imul, operator.imul, operator.ipow):
                call(v, 2.0)
        self.assertEqual([line.split()[1] for line in logs.output], ["+=", "*=", "**="])

    def test_an_initial_value_may_use_variables_that_are_not_initialized_yet(self):
        a = tf.Variable(2.0, name="a")
        b = tf.Variable(a * 3, name="b")
        c = tf.Variable(lambda: a.initialized_value() + 1, name="c")
        self.assertIn(("b/cond/Merge", "Merge"), self.nodes("b/"))
        self.assertEqual(self.run_after_initialization(b, c), [6, 3])

    def test_what_has_no_value_is_reported(self):
        a, b = tf.Variable(1.0, name="a"), tf.Variable(1.0, name="b")
        missing, is_there = tf.report_uninitialized_variables(), tf.is_variable_initialized(a)
        with tf.Session() as session:
            session.run(a.initializer)
            self.assertEqual(list(session.run(missing)), [b"b"])
            self.assertTrue(session.run(is_there))
            with self.assertRaises(tf.errors.FailedPreconditionError):
                session.run(b)
            b.load(5.0, session)
            self.assertEqual(b.eval(session), 5)

    def test_arguments_that_contradict_are_refused(self):
        with self.assertRaisesRegex(ValueError, "initial_value must be specified"):
            tf.Variable()
        with self.assertRaisesRegex(ValueError, "collections argument"):
            tf.Variable(1, collections="c")
        with self.assertRaisesRegex(ValueError, "must have a shape specified"):
            tf.Variable(tf.placeholder(tf.float32))
        with self.assertRaises(TypeError):
            iter(tf.Variable([1]))

    def test_a_message_describes_it(self):
        for use_resource in False, True:
            tf.reset_default_graph()
            v = tf.Variable(1.0, name="v", trainable=False, use_resource=use_resource)
            message = v.to_proto()
            self.assertEqual((message.is_resource, message.trainable), (use_resource, False))
            again = tf.Variable.from_proto(message) if not use_resource else v.from_proto(message)
            self.assertEqual((again.name, again.initializer.name), ("v:0", "v/Assign"))
            self.assertEqual(self.run_after_initialization(again), 1)

    def test_a_container_scope_is_in_its_nodes(self):
        for use_resource in False, True:
            tf.reset_default_graph()
            with tf.container("kept"):
                v = tf.Variable(1.0, use_resource=use_resource)
            self.assertEqual(v.op.get_attr("container"), b"kept")
            self.assertEqual(tf.Variable(1.0, use_resource=use_resource).op.get_attr("container"), b"")

    def test_creators_decide_what_is_made(self):
        def creator(next_creator, **kwargs):
            kwargs["name"] = "made"
            return next_creator(**kwargs)

        with tf.variable_creator_scope(creator):
            self.assertEqual(tf.Variable(1).op.name, "made")
            self.assertEqual(tf.get_variable("other", [1]).op.name, "made_1")


class ScopeTest(VariablesTest):
    def test_the_root_scope_that_is_entered_again_has_no_name(self):
        with tf.variable_scope(tf.get_variable_scope()) as scope:
            self.assertEqual(scope.original_name_scope, "")

    def test_names_are_those_of_variable_scopes_alone(self):
        with tf.name_scope("n"), tf.variable_scope("a"):
            self.assertEqual(tf.get_variable("v", [1]).name, "a/v:0")
            self.assertEqual(tf.no_op().name, "n/a/NoOp")
        with tf.variable_scope("a") as scope:
            self.assertEqual((tf.no_op().name, scope.original_name_scope), ("a/NoOp", "a/"))
        with tf.variable_scope(scope):
            self.assertEqual(tf.no_op().name, "a_1/NoOp")
        with tf.variable_scope(scope, auxiliary_name_scope=False):
            self.assertEqual(tf.no_op().name, "NoOp")
        with tf.variable_scope("b"), tf.variable_scope(scope):
            self.assertEqual((tf.get_variable_scope().name, tf.no_op().name), ("a", "b/a/NoOp"))

    def test_default_names_are_made_unique(self):
        names = []
        for _ in range(2):
            with tf.variable_scope(None, "d"):
                names.append(tf.get_variable("v", [1]).name)
        self.assertEqual(names, ["d/v:0", "d_1/v:0"])

    def test_reuse_finds_and_its_absence_makes(self):
        with tf.variable_scope("a"):
            v = tf.get_variable("v", [2])
            with self.assertRaisesRegex(ValueError, "already exists, disallowed"):
                tf.get_variable("v", [2])
        with tf.variable_scope("a", reuse=True):
            self.assertIs(tf.get_variable("v", [2]), v)
            with self.assertRaisesRegex(ValueError, "does not exist"):
                tf.get_variable("w", [2])
            with self.assertRaisesRegex(ValueError, r"specified shape \(3,\) and found shape \(2,\)"):
                tf.get_variable("v", [3])
            with tf.variable_scope("b", reuse=False):
                self.assertTrue(tf.get_variable_scope().reuse)
        with tf.variable_scope("a", reuse=tf.AUTO_REUSE):
            self.assertIs(tf.get_variable("v", [2]), v)
            self.assertEqual(tf.get_variable("w", [2]).name, "a/w:0")

    def test_a_scope_gives_defaults(self):
        def getter(getter, name, *args, **kwargs):
            return getter(name + "_g", *args, **kwargs)

        with tf.variable_scope(
            "a",
            initializer=tf.ones_initializer(),
            dtype=tf.float64,
            regularizer=tf.nn.l2_loss,
            custom_getter=getter,
        ):
            v = tf.get_variable("v", [2])
            tf.get_variable("w", [2], regularizer=tf.no_regularizer)
        self.assertEqual((v.name, v.dtype.base_dtype), ("a/v_g:0", tf.float64))
        losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
        self.assertEqual([loss.name for loss in losses], ["a/v_g/Regularizer/L2Loss:0"])
        self.assertEqual(self.run_after_initialization(losses[0]), 1)

    def test_partitioned_variables_are_one(self):
        with tf.variable_scope("p", partitioner=tf.fixed_size_partitioner(2)):
            v = tf.get_variable("v", initializer=np.arange(10, dtype=np.float32).reshape([5, 2]))
            scalar = tf.get_variable("s", [])
        self.assertEqual([part.name for part in v], ["p/v/part_0:0", "p/v/part_1:0"])
        self.assertEqual([part._save_slice_info.spec for part in v], ["5 2 0,3:0,2", "5 2 3,2:0,2"])
        self.assertEqual((v.name, scalar.name), ("p/v", "p/s:0"))
        np.testing.assert_array_equal(
            self.run_after_initialization(tf.matmul(v, tf.ones([2, 1])))[:, 0], [1, 5, 9, 13, 17]
        )
        sizes = tf.variable_axis_size_partitioner(16)(shape=tf.TensorShape([10]), dtype=tf.float32)
        self.assertEqual(sizes, [3])
        with tf.variable_scope("p", reuse=True), self.assertRaisesRegex(ValueError, "unpartitioned version"):
            tf.get_variable("s", [4], partitioner=tf.fixed_size_partitioner(2))

    def test_local_variables_are_apart(self):
        v = tf.get_local_variable("v", [2])
        self.assertEqual((tf.local_variables(), tf.global_variables()), ([v], []))
        self.assertFalse(v.trainable)

    def test_templates_share_their_variables(self):
        scale = tf.make_template(
            "t", lambda x: x * tf.get_variable("k", [], initializer=tf.ones_initializer())
        )
        first, second = scale(2.0), scale(3.0)
        self.assertEqual([v.name for v in scale.variables], ["t/k:0"])
        self.assertEqual((first.name, second.name), ("t/mul:0", "t_1/mul:0"))
        self.assertEqual(self.run_after_initialization(first, second), [2, 3])

    def test_an_error_in_a_template_tells_where_it_was_made(self):
        def fail():
            raise KeyError("no shape", 7)

        made_here = tf.make_template("fails", fail)
        with self.assertRaises(KeyError) as caught:
            made_here()
        text, seven = caught.exception.args
        self.assertEqual((text.split("\n")[:3], seven), (["no shape", "", "originally defined at:"], 7))
        self.assertRegex(text, r'variables_test.py", line \d+, in test_.*\n    made_here = tf.make_template')
        self.assertEqual(text.count("File "), 1)

    def test_templates_depend_on_the_variables_and_templates_of_their_functions(self):
        inner = tf.make_template("inner", lambda: tf.get_variable("k", []))
        outer = tf.make_template("outer", lambda: (inner(), tf.get_variable("b", [])))
        own = tf.make_template("own", lambda: (tf.make_template("part", lambda: tf.get_variable("k", []))()))
        outer(), own()
        tf.train.AdamOptimizer().minimize(own() + 1)  # slots are variables in the scope, too
        self.assertEqual(["b"], [name for name, _ in outer._checkpoint_dependencies if name != "inner"])
        self.assertEqual(["part"], [name for name, _ in own._checkpoint_dependencies])

    def test_scopes_of_threads_and_graphs_are_apart(self):
        with tf.variable_scope("a"):
            with tf.Graph().as_default():
                self.assertEqual(tf.get_variable_scope().name, "")
            self.assertEqual(tf.get_variable_scope().name, "a")
        with tf.variable_scope("a"):
            pass
        self.assertEqual(variable_scope.get_variable_scope_store().variable_scope_count("a"), 2)


class InitializersTest(VariablesTest):
    def test_nodes_of_the_default(self):
        tf.get_variable("v", [2, 3])
        self.assertEqual(
            [name for name, _ in self.nodes()],
            [
                "v/Initializer/random_uniform/shape",
                "v/Initializer/random_uniform/min",
                "v/Initializer/random_uniform/max",
                "v/Initializer/random_uniform/RandomUniform",
                "v/Initializer/random_uniform/sub",
                "v/Initializer/random_uniform/mul",
                "v/Initializer/random_uniform",
                "v",
                "v/Assign",
                "v/read",
            ],
        )
        limit = tf.get_default_graph().get_tensor_by_name("v/Initializer/random_uniform/max:0")
        with tf.Session() as session:
            self.assertAlmostEqual(float(session.run(limit)), (6 / 5) ** 0.5, places=6)

    def test_configurations_make_equal_initializers(self):
        for initializer in (
            tf.zeros_initializer(),
            tf.constant_initializer(3),
            tf.random_normal_initializer(1.0, 2.0, seed=5),
            tf.variance_scaling_initializer(2.0, "fan_out", "uniform"),
            tf.glorot_uniform_initializer(seed=1),
            tf.orthogonal_initializer(2.0),
        ):
            config = initializer.get_config()
            self.assertEqual(type(initializer).from_config(config).get_config(), config)

    def test_values(self):
        square = tf.get_variable("o", [2, 4, 3], initializer=tf.orthogonal_initializer(seed=1))
        constant = tf.get_variable("c", [2, 2], initializer=tf.constant_initializer([1, 2, 3, 4]))
        wide = tf.get_variable("n", [50, 100], initializer=tf.initializers.he_normal(seed=1))
        square, constant, wide = self.run_after_initialization(square, constant, wide)
        square = square.reshape([8, 3])
        np.testing.assert_allclose(square.T @ square, np.eye(3), atol=1e-5)
        np.testing.assert_array_equal(constant, [[1, 2], [3, 4]])
        self.assertAlmostEqual(wide.std(), (2 / 50) ** 0.5, delta=0.01)
        self.assertLess(abs(wide).max(), 2 * (2 / 50) ** 0.5 / 0.879)

    def test_orthogonal_kernels_keep_the_norm_of_periodic_images(self):
        from braid.tensorflow.python.ops import init_ops

        for dims, make in (
            (1, init_ops.convolutional_orthogonal_1d),
            (2, init_ops.convolutional_orthogonal_2d),
            (3, init_ops.convolutional_orthogonal_3d),
        ):
            tf.reset_default_graph()
            kernel = self.run_after_initialization(make(gain=2.0, seed=5)([3] * dims + [2, 4]))
            x = np.random.RandomState(0).randn(*[5] * dims, 2)
            y = sum(np.roll(x, at, axis=tuple(range(dims))) @ kernel[at] for at in np.ndindex(*[3] * dims))
            self.assertAlmostEqual(np.linalg.norm(y), 2 * np.linalg.norm(x), delta=1e-4)
        with self.assertRaisesRegex(ValueError, "Kernel sizes must be equal"):
            init_ops.convolutional_orthogonal_2d()([2, 3, 1, 1])

    def test_seeds_give_the_values_of_tensorflow(self):
        normal = tf.random_normal([2], seed=3)
        uniform = tf.random.stateless_uniform([2], [1, 2])
        tf.set_random_seed(1)
        with_both = tf.random_normal([2], seed=3)
        normal, uniform, with_both = self.run_after_initialization(normal, uniform, with_both)
        np.testing.assert_allclose(uniform, [0.84406042, 0.19204533], rtol=1e-6)
        np.testing.assert_allclose(with_both, [-0.67086124, 0.22357145], rtol=1e-6)
        np.testing.assert_allclose(normal, [1.0616621, -0.8785783], rtol=1e-6)


if __name__ == "__main__":
    unittest.main()
