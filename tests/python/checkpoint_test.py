"""tf.train.Checkpoint: keys of values, objects that come late, slots, names, and which checkpoints stay."""

import collections
import copy
import json
import os
import pickle
import tempfile
import unittest

import support  # noqa: F401, before the others: where the package is
import braid.tensorflow as tf
import numpy as np


class Net(tf.keras.Model):
    """A model that is given layers after its list was made an attribute."""

    def __init__(self):
        super().__init__()
        self.blocks = []
        self.blocks.append(tf.keras.layers.Dense(2))
        self.named = {"norm": tf.keras.layers.BatchNormalization()}

    def call(self, x):
        return self.named["norm"](self.blocks[0](x))


class Directory(unittest.TestCase):
    """Tests with a directory and a graph of their own."""

    def setUp(self):
        self._directory = tempfile.TemporaryDirectory()
        self.addCleanup(self._directory.cleanup)
        self.prefix = os.path.join(self._directory.name, "ck")
        graph = tf.Graph().as_default()
        graph.__enter__()
        self.addCleanup(graph.__exit__, None, None, None)

    def keys(self, path):
        end = "/.ATTRIBUTES/VARIABLE_VALUE"
        names = (name for name, _ in tf.train.list_variables(path))
        return sorted(name[: -len(end)] for name in names if name.endswith(end))


class CheckpointTest(Directory):
    """What is saved under which key, and found again."""

    def build(self):
        """A model of a class, one of layers, an optimizer of tf.train and one of Keras, and a step of both."""
        net, layers = Net(), tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
        loss = tf.reduce_sum(layers(net(tf.constant([[1.0, 2.0]]))))
        adam = tf.train.AdamOptimizer(0.1)
        sgd = tf.keras.optimizers.SGD(0.1, momentum=0.9)
        step = tf.group(
            adam.minimize(loss, var_list=net.trainable_variables),
            sgd.minimize(loss, layers.trainable_variables),
        )
        return tf.train.Checkpoint(net=net, seq=layers, adam=adam, sgd=sgd), step, net, adam

    def test_a_frozen_saver_takes_the_prefix_as_a_tensor(self):
        from braid.tensorflow.python.training.tracking import util

        v = tf.get_variable("v", initializer=3.0, use_resource=True)
        checkpoint = tf.train.Checkpoint(v=v)
        counter = checkpoint.save_counter
        saver, prefix = util.frozen_saver(checkpoint), tf.constant(self.prefix)
        with tf.Session() as session:
            session.run([v.initializer, counter.initializer])
            self.assertEqual(session.run(saver.save(prefix)).decode(), self.prefix)
            self.assertEqual(self.keys(self.prefix), ["save_counter", "v"])
            session.run(v.assign(5.0))
            session.run(saver.restore(prefix))
            self.assertEqual(session.run(v), 3.0)
            session.run(v.assign(7.0))
            checkpoint.restore(self.prefix).assert_consumed().run_restore_ops(session)
            self.assertEqual(session.run(v), 3.0)
            made = saver.to_proto()
            feed = {made.filename_tensor_name: self.prefix + "2"}
            session.run(v.assign(9.0))
            session.run(made.save_tensor_name, feed)
            session.run(v.assign(11.0))
            session.run(made.restore_op_name, feed)
            self.assertEqual(session.run(v), 9.0)

    def test_keys_are_tensorflows(self):
        # As TensorFlow 2.15 writes them for the same objects.
        checkpoint, step, net, adam = self.build()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            path = checkpoint.save(self.prefix)
        self.assertEqual(path, self.prefix + "-1")
        self.assertEqual(tf.train.latest_checkpoint(os.path.dirname(path)), path)
        kernel, norm = "net/blocks/0/kernel", "net/named/norm/gamma"
        keys = self.keys(path)
        for key in (
            kernel,
            kernel + "/.OPTIMIZER_SLOT/adam/m",
            kernel + "/.OPTIMIZER_SLOT/adam/v",
            norm,
            "adam/beta1_power",
            "sgd/iter",
            "sgd/learning_rate",
            "seq/layer_with_weights-0/bias",
            "seq/layer_with_weights-0/bias/.OPTIMIZER_SLOT/sgd/momentum",
            "save_counter",
        ):
            self.assertIn(key, keys)
        self.assertEqual(len(keys), 6 + 4 * 2 + 2 + 4 + 2 * 2 + 1)

    def test_values_and_slots_come_back(self):
        checkpoint, step, net, adam = self.build()
        kernel = net.blocks[0].kernel
        fetched = [
            kernel,
            adam.get_slot(kernel, "m"),
            adam._get_non_slot_variable("beta1_power", kernel.graph),
        ]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(step)
            wanted = session.run(fetched)
            path = checkpoint.save(self.prefix)
            session.run(step)
        nodes = len(tf.get_default_graph().get_operations())
        for _ in range(2):  # the second time adds no nodes
            with tf.Session() as session:
                checkpoint.restore(path).assert_consumed().initialize_or_restore()
                for got, value in zip(session.run(fetched), wanted):
                    np.testing.assert_array_equal(got, value)
            added, nodes = len(tf.get_default_graph().get_operations()) - nodes, nodes
            nodes += added
        self.assertEqual(added, 0)

    def test_objects_that_are_made_after_restore(self):
        saved = tf.train.Checkpoint(v=tf.Variable(3.0, name="first"))
        with tf.Session() as session:
            session.run(saved.v.initializer)
            path = saved.save(self.prefix)
        late = tf.train.Checkpoint()
        status = late.restore(path)
        with self.assertRaisesRegex(AssertionError, r"Unresolved object in checkpoint \(root\)\.v"):
            status.assert_consumed()
        late.v = tf.Variable(0.0, name="another")
        late.more = tf.Variable(7.0)
        with self.assertRaisesRegex(AssertionError, "not bound to checkpointed values"):
            status.assert_consumed()
        with tf.Session() as session:
            status.initialize_or_restore()  # `more` is initialized
            self.assertEqual(session.run([late.v, late.more]), [3.0, 7.0])

    def test_the_later_of_two_restores_counts(self):
        checkpoint = tf.train.Checkpoint(v=tf.Variable(0.0))
        with tf.Session() as session:
            paths = []
            for value in (1.0, 2.0):
                checkpoint.v.load(value, session)
                paths.append(checkpoint.save(self.prefix))
            first, second = map(checkpoint.restore, paths)
            second.run_restore_ops()
            first.run_restore_ops()
            self.assertEqual(session.run(checkpoint.v), 2.0)

    def test_without_a_checkpoint(self):
        checkpoint = tf.train.Checkpoint(v=tf.Variable(4.0))
        status = checkpoint.restore(tf.train.latest_checkpoint(self._directory.name))
        with self.assertRaisesRegex(AssertionError, "No checkpoint specified"):
            status.assert_consumed()
        with tf.Session() as session:
            status.initialize_or_restore()
            self.assertEqual(session.run([checkpoint.v, checkpoint.save_counter]), [4.0, 0])

    def test_checkpoints_of_savers_and_the_other_way_round(self):
        v = tf.get_variable("scope/v", initializer=5.0)
        checkpoint, saver = tf.train.Checkpoint(anything=v), tf.train.Saver([v])
        with tf.Session() as session:
            session.run(v.initializer)
            named, by_path = saver.save(session, self.prefix), checkpoint.save(self.prefix)
            v.load(0.0, session)
            status = checkpoint.restore(named)
            status.initialize_or_restore()
            with self.assertRaisesRegex(AssertionError, "save_counter"):  # which only this checkpoint has
                status.assert_consumed()
            self.assertEqual(session.run(v), 5.0)
            v.load(0.0, session)
            saver.restore(session, by_path)  # the graph of objects has the names, too
            self.assertEqual(session.run(v), 5.0)
        w = tf.get_variable("w", initializer=5.0)
        with tf.Session() as session, self.assertRaisesRegex(tf.errors.NotFoundError, "'w'"):
            tf.train.Saver([w]).restore(session, by_path)

    def test_state_of_python_and_tables(self):
        class Text(tf.train.experimental.PythonState):
            def __init__(self, text):
                self.text = text

            def serialize(self):
                return self.text

            def deserialize(self, string_value):
                self.text = string_value.decode()

        table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
        checkpoint = tf.train.Checkpoint(text=Text("one"), table=table)
        with tf.Session() as session:
            session.run(table.insert(["a"], [1]))
            session.run(checkpoint.save_counter.initializer)
            path = checkpoint.save(self.prefix)
            checkpoint.text.text = "two"
            self.assertEqual(checkpoint.save(self.prefix), self.prefix + "-2")
        with tf.Session() as session:
            status = checkpoint.restore(path)
            self.assertEqual(checkpoint.text.text, "one")
            status.assert_consumed().run_restore_ops()
            self.assertEqual(session.run(table.lookup(["a", "b"])).tolist(), [1, -1])

    def test_arrays_come_back_as_attributes(self):
        state = tf.contrib.checkpoint.NumpyState()
        state.x = np.zeros([2, 2])
        saver = tf.train.Checkpoint(arrays=state)
        with tf.Session() as session:
            session.run(saver.save_counter.initializer)
            path = saver.save(self.prefix, session=session)
        state.x[0, 1] = 4.0
        saver.restore(path)
        self.assertEqual(0.0, state.x.sum())
        other = tf.contrib.checkpoint.NumpyState()
        tf.train.Checkpoint(arrays=other).restore(path)
        self.assertEqual((2, 2), other.x.shape)

    def test_state_of_python_comes_back_when_its_object_is_tracked(self):
        class State(tf.train.experimental.PythonState):
            text = ""

            def serialize(self):
                return self.text

            def deserialize(self, string_value):
                self.text = string_value.decode()

        saved, root = tf.Module(), tf.Module()
        saved.state = State()
        saved.state.text = "saved"
        with tf.Session() as session:
            checkpoint = tf.train.Checkpoint(root=saved)
            session.run(checkpoint.save_counter.initializer)
            path = checkpoint.write(self.prefix)
            tf.train.Checkpoint(root=root).restore(path)
        late = State()
        root.state = late
        self.assertEqual(late.text, "saved")
        late.text = "other"
        root.state = late
        self.assertEqual(late.text, "other")

    def test_only_trackable_objects(self):
        with self.assertRaisesRegex(ValueError, "expecting a trackable object"):
            tf.train.Checkpoint(x=3)

    def test_attributes(self):
        root = tf.contrib.checkpoint.Checkpointable()
        root.a = tf.Variable(0.0)
        root.hidden = tf.contrib.checkpoint.NoDependency(tf.Variable(0.0))
        root.list = [tf.Variable(0.0), 3]
        root.number = 4
        root.mapping = tf.contrib.checkpoint.Mapping(x=tf.Variable(0.0))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            path = tf.train.Checkpoint(root=root).write(self.prefix)
        self.assertEqual(self.keys(path), ["root/a", "root/list/0", "root/mapping/x"])
        del root.a
        self.assertEqual(len(tf.contrib.checkpoint.list_objects(root)), 5)

    def test_lists_and_dictionaries_in_attributes_share_what_they_hold(self):
        root = tf.contrib.checkpoint.Checkpointable()
        given, entries = [tf.Variable(0.0)], collections.OrderedDict(b=[1], a={"x": 2})
        root.list, root.entries = given, entries
        root.list.append([tf.Variable(1.0)])
        self.assertIs(given[1], root.list[1])
        self.assertEqual(type(root.list).__name__, "ListWrapper")
        self.assertIsInstance(root.list, list)
        self.assertIsInstance(root.entries, collections.OrderedDict)
        self.assertIsInstance(root.entries["a"], dict)
        self.assertEqual(json.dumps(root.entries), '{"b": [1], "a": {"x": 2}}')
        self.assertEqual(np.array(root.entries["b"]).tolist(), [1])  # C takes the elements of a list itself
        self.assertEqual({**root.entries}, entries)
        self.assertEqual(pickle.loads(pickle.dumps(root.entries)), entries)
        tf.nest.assert_same_structure(root.entries, {"a": {"x": 0}, "b": [0]})
        for change in (
            lambda values: values.insert(0, 3),
            lambda values: values.pop(),
            lambda values: values.reverse(),
            lambda values: values.__setitem__(0, 3),
        ):
            copied = copy.copy(root.list)
            self.assertEqual(len(copied._checkpoint_dependencies), 2)
            change(copied)
            with self.assertRaisesRegex(ValueError, "A list element was replaced"):
                copied._checkpoint_dependencies
        given.append(3)
        with self.assertRaisesRegex(ValueError, "list was modified outside"):
            tf.contrib.checkpoint.list_objects(root)
        del root.list
        entries["c"] = 3
        with self.assertRaisesRegex(ValueError, "dictionary was modified outside"):
            tf.contrib.checkpoint.list_objects(root)
        root.entries = {3: root}
        with self.assertRaisesRegex(ValueError, "non-string key"):
            tf.contrib.checkpoint.list_objects(root)

    def test_lists_of_layers_in_attributes_of_models(self):
        class Stack(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.parts = [tf.keras.layers.Dense(2), [tf.keras.layers.Dense(1)]]
                self.loose = {"scale": [tf.Variable(2.0)]}

            def call(self, x):
                return self.parts[1][0](self.parts[0](x)) * self.loose["scale"][0]

        model = Stack()
        model(tf.ones((1, 3)))
        model.old = [tf.layers.Dense(1)]
        self.assertTrue(model.old[0]._use_resource_variables)
        self.assertIs(type(tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(1)])._cells), list)
        del model.old
        self.assertEqual(len(model.parts.weights), 4)
        self.assertEqual(model.loose.trainable_weights, model.loose["scale"])
        model.save_weights(self.prefix)
        self.assertIn("parts/1/0/kernel", self.keys(self.prefix))
        self.assertIn("loose/scale/0", self.keys(self.prefix))
        model.parts.reverse()
        with self.assertRaisesRegex(ValueError, "A list element was replaced"):
            model.save_weights(self.prefix)


class ManagerTest(Directory):
    """Which checkpoints stay."""

    def test_old_ones_are_deleted_by_this_manager_and_the_next(self):
        checkpoint = tf.train.Checkpoint(v=tf.Variable(0.0))
        with tf.Session() as session:
            session.run(checkpoint.v.initializer)
            manager = tf.train.CheckpointManager(checkpoint, self._directory.name, max_to_keep=2)
            paths = [manager.save() for _ in range(3)]
            self.assertEqual(manager.checkpoints, paths[1:])
            self.assertFalse(tf.train.checkpoint_exists(paths[0]))
            manager = tf.train.CheckpointManager(checkpoint, self._directory.name, max_to_keep=1)
            self.assertEqual(manager.latest_checkpoint, paths[2])
            self.assertEqual(
                manager.save(checkpoint_number=70), os.path.join(self._directory.name, "ckpt-70")
            )
            self.assertFalse(tf.train.checkpoint_exists(paths[2]))
        with self.assertRaisesRegex(ValueError, "positive integer"):
            tf.train.CheckpointManager(checkpoint, self._directory.name, max_to_keep=0)


class ModuleTest(Directory):
    """tf.Module finds variables below it."""

    def test_variables_and_submodules(self):
        class TwoLayers(tf.Module):
            def __init__(self):
                super().__init__()
                self.inner = [tf.keras.layers.Dense(1, use_bias=False), tf.Module("leaf")]
                self.inner[1].w = tf.Variable(1.0, trainable=False)

            @tf.Module.with_name_scope
            def __call__(self, x):
                return self.inner[0](x)

        module = TwoLayers()
        self.assertEqual(module.name, "two_layers")
        y = module(tf.ones([1, 2]))
        self.assertEqual(y.op.name.split("/")[0], "two_layers")
        self.assertEqual([v.name for v in module.variables], ["two_layers/dense/kernel:0", "Variable:0"])
        self.assertEqual(module.trainable_variables, (module.inner[0].kernel,))
        self.assertEqual(module.submodules, tuple(module.inner))
        with self.assertRaisesRegex(ValueError, "not a valid module name"):
            tf.Module("1")

    def test_weights_in_containers_come_in_the_order_of_attributes(self):
        class Layer(tf.keras.layers.Layer):
            def __init__(self):
                super().__init__()
                self.pair = (tf.Variable(1.0, name="a"), [tf.Variable(2.0, name="b", trainable=False)])
                self.by_name = {"y": tf.Variable(3.0, name="d"), "x": tf.Variable(4.0, name="c")}
                self.last = tf.Variable(5.0, name="e")

            def build(self, shape):
                self.scale = self.add_weight("scale", [])

            def call(self, x):
                return x * self.scale

        layer = Layer()
        layer(tf.ones([1, 2]))
        self.assertEqual(
            ["a:0", "c:0", "d:0", "e:0", "layer/scale:0", "b:0"], [w.name for w in layer.weights]
        )

    def test_tuples_are_not_tracked(self):
        class Nested(tf.keras.layers.Layer):
            def __init__(self):
                super().__init__()
                self.pair = (tf.Variable(1.0, name="p"), [tf.Variable(2.0, name="q", trainable=False)])
                self.layers = (tf.keras.layers.Dense(2),)
                self.in_list = [tf.keras.layers.Dense(3), (tf.keras.layers.Dense(4),)]

            def call(self, x):
                return self.in_list[1][0](self.in_list[0](self.layers[0](x)))

        layer = Nested()
        layer(tf.ones([1, 2]))
        names = ["nested/dense_1/bias:0", "nested/dense_1/kernel:0", "p:0", "q:0"]
        self.assertEqual(names, sorted(w.name for w in layer.weights))
        self.assertEqual(["in_list"], [d.name for d in layer._checkpoint_dependencies])
        module = tf.Module()
        module.pair = (tf.Variable(1.0, name="v"),)
        module.rows = [(tf.Variable(1.0),), tf.Variable(2.0)]
        self.assertEqual(3, len(module.variables))
        self.assertEqual(["rows"], [d.name for d in module._checkpoint_dependencies])
        self.assertEqual(["1"], [d.name for d in module.rows._checkpoint_dependencies])


if __name__ == "__main__":
    unittest.main()
