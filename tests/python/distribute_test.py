# timeout: 180
"""tf.distribute's strategies of several replicas: what they compute together is what one does."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import support  # noqa: F401, before the others: where the package is
import braid
import braid.tensorflow as tf
import numpy as np

_X = np.random.RandomState(0).randn(8, 3).astype(np.float32)
_Y = _X @ np.array([[1.0], [2.0], [3.0]], np.float32)
_PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(braid.__file__)))
_CONFIG = tf.ConfigProto(device_count={"CPU": 2})
_SUM, _MEAN = tf.distribute.ReduceOp.SUM, tf.distribute.ReduceOp.MEAN


def _dataset():
    return tf.data.Dataset.from_tensor_slices((_X, _Y)).repeat().batch(8)


def _model_fn(features, labels, mode):
    out = tf.layers.dense(features, 1)
    loss = tf.losses.mean_squared_error(labels, out)
    train_op = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


class AllReduceTest(unittest.TestCase):
    def test_each_device_gets_the_mean_of_all(self):
        """Of lengths that the devices divide, and of those that they do not."""
        from braid.tensorflow.python.distribute import all_reduce

        names = [f"/job:localhost/replica:0/task:0/device:CPU:{k}" for k in range(4)]
        mean = {"un_op": lambda t: t / 4}
        ways = {
            "ring": lambda ts: all_reduce.build_ring_all_reduce(ts, 1, 1, [0, 1, 2, 3], tf.add, **mean),
            "rings": lambda ts: all_reduce.build_ring_all_reduce(ts, 2, 2, [1, 0], tf.add, **mean),
            "halves": lambda ts: all_reduce.build_recursive_hd_all_reduce(ts, tf.add, **mean),
            "shards": lambda ts: all_reduce.build_shuffle_all_reduce(ts, names[:3], tf.add_n, **mean),
            "hybrid": lambda ts: tf.contrib.all_reduce.build_shuffle_then_ring(
                ts, names[:1], 1, tf.add_n, tf.add, **mean
            ),
            "nccl": lambda ts: all_reduce.build_nccl_all_reduce(ts, tf.add, **mean),
            "nccl, ring": lambda ts: all_reduce.build_nccl_then_ring(ts, 1, tf.add, **mean),
            "nccl, halves": lambda ts: all_reduce.build_nccl_then_recursive_hd(ts, tf.add, **mean),
            "nccl, shards": lambda ts: all_reduce.build_nccl_then_shuffle(
                ts, names[:1], tf.add, tf.add_n, **mean
            ),
        }
        for shape in ([4, 6], [7], [1]):
            arrays = [np.random.RandomState(k).rand(*shape).astype(np.float32) for k in range(4)]
            for way, build in ways.items():
                with self.subTest(way=way, shape=shape), tf.Graph().as_default():
                    given = []
                    for name, array in zip(names, arrays):
                        with tf.device(name):
                            given.append(tf.constant(array))
                    if way == "halves" and shape != [4, 6]:
                        self.assertRaisesRegex(ValueError, "cannot be halved", build, given)
                        continue
                    results = build(given)
                    self.assertEqual([r.device for r in results], names)
                    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 4})) as session:
                        for result in session.run(results):
                            np.testing.assert_allclose(result, sum(arrays) / 4, rtol=1e-6)

    def test_estimators_train_by_their_own_executor(self):
        """What libraries with an executor of their own ask."""
        from braid.tensorflow.python.distribute import estimator_training

        class Executor:
            def __init__(self, estimator, train_spec, eval_spec):
                self.given = estimator, train_spec, eval_spec

            def run(self):
                return self.given

        self.assertFalse(estimator_training.should_run_distribute_coordinator(tf.estimator.RunConfig()))
        self.assertEqual(estimator_training.train_and_evaluate(1, 2, 3, Executor), (1, 2, 3))

    def test_nccl_over_two_workers(self):
        names = [f"/job:worker/task:{k // 2}/device:CPU:{k % 2}" for k in range(4)]
        reduce = tf.contrib.all_reduce
        for build in (
            lambda ts: reduce.build_nccl_then_ring(ts, 1, tf.add),
            lambda ts: reduce.build_nccl_then_recursive_hd(ts, tf.add),
            lambda ts: reduce.build_nccl_then_shuffle(ts, names[::2], tf.add, tf.add_n),
        ):
            with tf.Graph().as_default() as graph:
                given = []
                for k, name in enumerate(names):
                    with tf.device(name):
                        given.append(tf.constant([[1.0, 2.0]]) * 10.0**k)
                results = build(given)
                self.assertEqual([r.device for r in results], [t.device for t in given])
                imported = graph.as_graph_def()
                for node in imported.node:
                    node.device = ""
            with tf.Graph().as_default(), tf.Session() as session:
                tf.import_graph_def(imported, name="")
                for value in session.run([r.name for r in results]):
                    np.testing.assert_array_equal(value, [[1111.0, 2222.0]])

    def test_nccl_ops_reduce_on_the_devices_of_their_tensors(self):
        from braid.tensorflow.python.ops import nccl_ops

        nccl = tf.contrib.nccl
        self.assertIs(nccl.all_sum, nccl_ops.all_sum)
        config = tf.ConfigProto(device_count={"CPU": 2})
        with tf.Graph().as_default(), tf.Session(config=config) as session:
            given = []
            for k in range(2):
                with tf.device(f"/cpu:{k}"):
                    given.append(tf.constant([2.0, 3.0 - 2 * k]))
            for reduce, expected in (
                (nccl.all_sum, [4.0, 4.0]),
                (nccl.all_prod, [4.0, 3.0]),
                (nccl.all_min, [2.0, 1.0]),
                (nccl.all_max, [2.0, 3.0]),
            ):
                results = reduce(given)
                self.assertEqual([r.device for r in results], [t.device for t in given])
                np.testing.assert_array_equal(session.run(results), [expected] * 2)
            sums = nccl.all_sum(given)
            grads = tf.gradients(sums[0] + 2 * sums[1], given)
            np.testing.assert_array_equal(session.run(grads), [[3.0, 3.0]] * 2)
            with tf.device("/cpu:1"):
                np.testing.assert_array_equal(session.run(nccl.reduce_sum(given)), [4.0, 4.0])
            with self.assertRaisesRegex(ValueError, "One input tensor must be assigned to current device"):
                nccl.reduce_sum(given)
            np.testing.assert_array_equal(session.run(nccl.broadcast(given[1])), [2.0, 1.0])
            with self.assertRaisesRegex(ValueError, "Device assignment required"):
                nccl.all_sum([tf.constant(1.0)])
            with self.assertRaisesRegex(ValueError, "red_op not supported"):
                tf.contrib.all_reduce.build_nccl_all_reduce(given, tf.multiply)


class MirroredTest(unittest.TestCase):
    def setUp(self):
        graph = tf.Graph().as_default()
        graph.__enter__()
        self.addCleanup(graph.__exit__, None, None, None)
        self.strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])

    def test_summaries_are_those_of_the_first_replica(self):
        def replica():
            scalar = tf.summary.scalar("rate", tf.constant(0.5))
            return scalar, tf.summary.merge([scalar])

        with self.strategy.scope():
            results = self.strategy.experimental_run_v2(replica)
        types = [[self.strategy.experimental_local_results(r)[i].op.type for r in results] for i in range(2)]
        self.assertEqual(types, [["ScalarSummary", "MergeSummary"], ["Const", "Const"]])
        self.assertEqual(len(tf.get_collection(tf.GraphKeys.SUMMARIES)), 1)

    def test_a_summary_without_a_strategy_has_its_own_nodes_alone(self):
        tf.summary.scalar("rate", tf.constant(0.5))
        names = [op.name for op in tf.get_default_graph().get_operations()]
        self.assertEqual(names, ["Const", "rate/tags", "rate"])
        self.assertEqual(tf.distribute.get_replica_context().replica_id_in_sync_group, 0)

    def step(self, features, labels, optimizer):
        """A step of a model with a dense layer and rows of a table, and its loss, of a batch of 8 in all."""
        table = tf.get_variable("table", [2, 3], initializer=tf.ones_initializer())
        rows = tf.nn.embedding_lookup(table, tf.cast(features[:, 0] > 0, tf.int32))
        out = tf.layers.dense(features * rows, 1, kernel_initializer=tf.constant_initializer(0.5))
        loss = tf.reduce_sum((out - labels) ** 2) / 8
        return optimizer.minimize(loss), loss

    def trained(self, make_optimizer, strategy):
        """The losses of five steps, and the variables after them."""
        with tf.Graph().as_default():
            if strategy is None:
                iterator = tf.data.make_initializable_iterator(_dataset())
                step, loss = self.step(*iterator.get_next(), make_optimizer())
            else:
                with strategy.scope():
                    optimizer = make_optimizer()
                    iterator = strategy.make_dataset_iterator(_dataset())
                    step, loss = strategy.experimental_run(
                        lambda batch: self.step(*batch, optimizer), iterator
                    )
                    step, loss = strategy.group(step), strategy.reduce(_SUM, loss, axis=None)
            with tf.Session(config=_CONFIG) as session:
                session.run([iterator.initializer, tf.global_variables_initializer()])
                losses = [session.run([loss, step])[0] for _ in range(5)]
                names = [v.op.name for v in tf.global_variables()]
                return losses, dict(zip(names, session.run(tf.global_variables()))), tf.global_variables()

    def test_training_is_that_of_one_replica(self):
        for make in (
            lambda: tf.train.GradientDescentOptimizer(0.05),
            lambda: tf.train.AdamOptimizer(0.05),
            lambda: tf.train.MomentumOptimizer(0.05, 0.9),
            lambda: tf.train.AdagradOptimizer(0.05),
        ):
            losses, values, _ = self.trained(make, None)
            mirrored_losses, mirrored_values, variables = self.trained(make, self.strategy)
            np.testing.assert_allclose(mirrored_losses, losses, rtol=1e-5)
            self.assertEqual(sorted(mirrored_values), sorted(values))
            for name, value in values.items():
                np.testing.assert_allclose(mirrored_values[name], value, rtol=1e-4, atol=1e-6)
            self.assertEqual(
                [[c.device for c in v.values] for v in variables][0], ["/device:CPU:0", "/device:CPU:1"]
            )

    def test_replicas_and_what_is_between_them(self):
        with self.strategy.scope():
            v = tf.Variable(5.0, aggregation=tf.VariableAggregation.MEAN)

            def replica():
                context = tf.distribute.get_replica_context()
                number = tf.cast(context.replica_id_in_sync_group, tf.float32)
                both = context.all_reduce(_SUM, number + 1)
                return number, both, v.assign_add(number)

            number, both, assigned = self.strategy.experimental_run_v2(replica)
            mean = self.strategy.reduce(_MEAN, number, axis=None)
        self.assertEqual(
            [t.device for t in self.strategy.experimental_local_results(number)][1], "/device:CPU:1"
        )
        with tf.Session(config=_CONFIG) as session:
            session.run(v.initializer)
            self.assertEqual(session.run([mean, both, assigned]), [0.5, 3.0, 5.5])
            self.assertEqual(session.run(list(v.values)), [5.5, 5.5])

    def test_what_replicas_may_not_do(self):
        with self.strategy.scope():
            v = tf.Variable(1.0)
            with self.assertRaisesRegex(ValueError, "must specify an aggregation method"):
                self.strategy.experimental_run_v2(lambda: v.assign(2.0))
            with self.assertRaisesRegex(ZeroDivisionError, "division"):  # the others are ended
                self.strategy.experimental_run_v2(lambda: 1 / 0)

            def uneven():
                context = tf.distribute.get_replica_context()
                if context._id == 0:
                    context.merge_call(lambda strategy: None)

            with self.assertRaisesRegex(RuntimeError, "different number of .*merge_call"):
                self.strategy.experimental_run_v2(uneven)
            with self.assertRaisesRegex(RuntimeError, "in a replica context"):
                tf.train.GradientDescentOptimizer(1.0).apply_gradients([(tf.constant(1.0), v)])

    def test_averages_of_batches_are_each_replicas_own_until_they_are_read(self):
        with self.strategy.scope():

            def replica():
                number = tf.distribute.get_replica_context()._id
                tf.layers.batch_normalization(tf.fill([2, 1], 100.0 * number), training=True, momentum=0.0)

            self.strategy.experimental_run_v2(replica)
            (mean,) = [v for v in tf.global_variables() if "moving_mean" in v.name]
        with tempfile.TemporaryDirectory() as directory, tf.Session(config=_CONFIG) as session:
            session.run(tf.global_variables_initializer())
            session.run(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
            self.assertEqual([v[0] for v in session.run(list(mean.values))], [0.0, 100.0])
            saver = tf.train.Saver()
            path = saver.save(session, directory + "/ck")
            self.assertEqual(tf.train.load_variable(path, "batch_normalization/moving_mean")[0], 50.0)
            saver.restore(session, path)
            self.assertEqual([v[0] for v in session.run(list(mean.values))], [50.0, 50.0])

    def test_optimizers_of_keras_sum_the_gradients_of_replicas(self):
        values = []
        for strategy in (tf.distribute.get_strategy(), self.strategy):
            with tf.Graph().as_default(), strategy.scope():
                v, optimizer = tf.Variable(1.0), tf.keras.optimizers.SGD(0.5, momentum=0.9)

                def replica():
                    number = tf.distribute.get_replica_context().replica_id_in_sync_group
                    factor = tf.cast(number, tf.float32) * 2 + 1 if strategy is self.strategy else 4.0
                    return optimizer.minimize(lambda: v * factor, [v])  # 1 + 3 = 4

                step = strategy.group(strategy.experimental_run_v2(replica))
                with tf.Session(config=_CONFIG) as session:
                    session.run([v.initializer] + [w.initializer for w in optimizer.weights])
                    session.run([w.initializer for w in optimizer._hyper.values()])
                    session.run(step)
                    session.run(step)
                    values.append(session.run(list(getattr(v, "values", [v]))))
        np.testing.assert_allclose(values[1], values[0] * 2, rtol=1e-6)

    def test_a_scope_in_a_scope_makes_one_variable(self):
        with self.strategy.scope(), self.strategy.scope():
            v = tf.Variable(1.0)
        self.assertEqual(len(v.values), 2)
        self.assertFalse(any(hasattr(copy, "values") for copy in v.values))

    def test_estimator(self):
        with tempfile.TemporaryDirectory() as directory:
            for strategy in (self.strategy, None):  # the second goes on from the first's checkpoint
                config = tf.estimator.RunConfig(
                    train_distribute=strategy, session_config=_CONFIG, tf_random_seed=1
                )
                estimator = tf.estimator.Estimator(_model_fn, directory, config)
                estimator.train(_dataset, steps=100)
            result = estimator.evaluate(_dataset, steps=1)
        self.assertEqual(result["global_step"], 200)
        self.assertLess(result["loss"], 0.1)


class _LastKernel(tf.train.SessionRunHook):
    def before_run(self, context):
        return tf.train.SessionRunArgs(tf.trainable_variables()[0])

    def after_run(self, context, values):
        self.value = values.results


def run_worker(directory):
    """The program of a worker of the test below: prints its kernel before the last step."""
    strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
    config = tf.estimator.RunConfig(
        directory, train_distribute=strategy, experimental_max_worker_delay_secs=0
    )
    half = slice(4 * config.task_id, 4 * config.task_id + 4)

    def input_fn():
        return tf.data.Dataset.from_tensor_slices((_X[half], _Y[half])).repeat().batch(4)

    hook = _LastKernel()
    tf.estimator.train_and_evaluate(
        tf.estimator.Estimator(_model_fn, config=config),
        tf.estimator.TrainSpec(input_fn, max_steps=60, hooks=[hook]),
        tf.estimator.EvalSpec(input_fn, steps=1),
    )
    print(json.dumps(hook.value.tolist()))


def run_keras_worker(_):
    """The program of a worker that trains models of Keras: prints losses, metrics and weights."""
    strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
    results = []
    for optimizer, normalizes in (
        (tf.keras.optimizers.SGD(0.1), False),
        (tf.train.GradientDescentOptimizer(0.1), False),
        (tf.keras.optimizers.Adam(0.1), True),
    ):
        with strategy.scope():
            start = [tf.keras.initializers.RandomUniform(seed=i) for i in range(2)]
            layers = [tf.keras.layers.Dense(4, "tanh", input_shape=(3,), kernel_initializer=start[0])]
            layers += [tf.keras.layers.BatchNormalization()] if normalizes else []
            layers += [tf.keras.layers.Dense(1, kernel_initializer=start[1], kernel_regularizer="l2")]
            model = tf.keras.Sequential(layers)
            model.compile(optimizer, "mse", metrics=["mae", tf.keras.metrics.MeanSquaredError("mse")])
        model.get_weights()  # the workers have their first values
        fits = dict(epochs=2, verbose=0, shuffle=False)
        history = dict(model.fit(_X[:7], _Y[:7], batch_size=3, validation_data=(_X, _Y), **fits).history)
        data = tf.data.Dataset.from_tensor_slices((_X, _Y, np.arange(8.0))).repeat().batch(5)
        weighted = model.fit(data, steps_per_epoch=3, epochs=1, verbose=0).history
        own = data.with_options(_own_data()) if strategy.num_replicas_in_sync > 1 else data
        steps = 3 * strategy.num_replicas_in_sync
        history["own"] = model.fit(own, steps_per_epoch=steps, epochs=1, verbose=0).history["loss"]
        history["weighted"] = weighted["loss"]
        history["predicted"] = model.predict(_X).ravel().tolist()
        if not normalizes:
            with strategy.scope():
                model.compile(tf.keras.optimizers.SGD(0.0), "mse")
            shuffled = model.fit(_X, _Y, batch_size=3, epochs=3, verbose=0).history["loss"]
            history["shuffled"] = [loss / model.evaluate(_X, _Y, verbose=0) for loss in shuffled]
        results.append([normalizes, history, [w.tolist() for w in model.get_weights()]])
    print(json.dumps(results, default=float))


def _own_data():
    options = tf.data.Options()
    options.experimental_distribute.auto_shard = False
    return options


class ServerTest(unittest.TestCase):
    def test_a_server_is_the_task_of_tf_config(self):
        start = tf.contrib.distribute.run_standard_tensorflow_server
        with mock.patch.dict(os.environ, TF_CONFIG="{}"):
            self.assertRaisesRegex(ValueError, '"cluster" is not found', start)
        with socket.create_server(("localhost", 0)) as chosen:
            address = f"localhost:{chosen.getsockname()[1]}"
        task = {"cluster": {"worker": [address]}, "task": {"type": "worker", "index": 0}}
        with mock.patch.dict(os.environ, TF_CONFIG=json.dumps(task)):
            server = start()
        self.assertEqual(server.target, f"grpc://{address}")
        with tf.Graph().as_default(), tf.Session(server.target) as session:
            self.assertEqual(session.run(tf.constant(5)), 5)


class ContribMirroredTest(unittest.TestCase):
    def test_variables_are_placed_as_others(self):
        with tf.Graph().as_default():
            strategy = tf.distribute.OneDeviceStrategy("/device:CPU:0")
            with strategy.scope():
                first = tf.Variable(1.0, name="first")
                with strategy.colocate_vars_with(first):
                    second = tf.Variable(2.0)
            self.assertEqual(second.op.colocation_groups(), [b"loc:@first"])

    def test_an_iterator_of_contrib_gives_each_replica_a_batch(self):
        devices = ["/device:CPU:0", "/device:CPU:1"]
        for module, expected in ((tf.contrib.distribute, [[0, 1], [2, 3]]), (tf.distribute, [[0], [1]])):
            with tf.Graph().as_default(), tf.Session(config=_CONFIG) as session:
                data = tf.data.Dataset.range(8).batch(2)
                strategy = module.MirroredStrategy(devices)
                iterator = strategy.make_dataset_iterator(data)
                parts = strategy.experimental_local_results(iterator.get_next())
                session.run(iterator.initialize())
                self.assertEqual(expected, [part.tolist() for part in session.run(parts)])


class MultiWorkerTest(unittest.TestCase):
    """MultiWorkerMirroredStrategy."""

    def outputs(self, function, directory="", tasks=(("worker", 0), ("worker", 1))):
        """What the processes print, in which `function` of this module is the program, of the tasks of a cluster."""
        sockets = {task: socket.create_server(("localhost", 0)) for task in tasks}
        cluster = {}
        for (job, _), s in sockets.items():
            cluster.setdefault(job, []).append(f"localhost:{s.getsockname()[1]}")
            s.close()
        code = (
            f"import sys; sys.argv = ['x', {os.path.join(os.path.dirname(_PACKAGES), 'bin')!r}]; "
            f"sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r}); "
            f"import distribute_test; distribute_test.{function.__name__}({directory!r})"
        )
        processes = []
        for job, i in tasks:
            task = {"cluster": cluster, "task": {"type": job, "index": i}}
            processes.append(
                subprocess.Popen(
                    [sys.executable, "-c", code],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env={**os.environ, "TF_CONFIG": json.dumps(task), "PYTHONPATH": _PACKAGES},
                )
            )
        outputs = [process.communicate(timeout=120) for process in processes]
        self.assertEqual([process.returncode for process in processes], [0] * len(tasks), outputs)
        return [json.loads(out) if out else None for out, _ in outputs]

    def test_two_workers_stay_the_same_and_learn_from_both_halves(self):
        with tempfile.TemporaryDirectory() as directory:
            kernels = self.outputs(run_worker, directory)
            self.assertEqual(kernels[0], kernels[1])
            saved = tf.train.load_variable(directory, "dense/kernel")
        np.testing.assert_allclose(saved.ravel(), [1.0, 2.0, 3.0], atol=0.5)

    def test_models_of_keras_are_those_that_one_process_trains_on_whole_batches(self):
        tasks = (("ps", 0), ("worker", 0), ("worker", 1))
        served, first, second = self.outputs(run_keras_worker, tasks=tasks)
        self.assertIsNone(served)  # a parameter server trains nothing
        self.assertEqual(first, second)
        self.assertNotIn("NaN", json.dumps(first))  # the last batches have one example, for one worker
        with mock.patch("builtins.print") as printed, tf.Graph().as_default():
            run_keras_worker("")
        for one, many in zip(json.loads(printed.call_args[0][0]), first):
            if one[0]:
                continue  # a worker normalizes by the examples that it has itself
            self.assertEqual(one[1].keys(), many[1].keys())
            for name, values in one[1].items():
                if name not in ("own", "predicted"):
                    np.testing.assert_allclose(many[1][name], values, rtol=1e-4, err_msg=name)
            # An epoch has each example once, also if it is shuffled.
            np.testing.assert_allclose(many[1]["shuffled"], [1, 1, 1], rtol=1e-4)

    def test_the_first_worker_is_the_chief_of_parameter_servers_too(self):
        strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy
        task = {"cluster": {"ps": ["a:1"], "worker": ["b:1", "c:1"]}, "task": {"type": "ps", "index": 0}}
        with mock.patch.dict(os.environ, TF_CONFIG=json.dumps(task)):
            self.assertEqual(tf.estimator.RunConfig(train_distribute=strategy()).task_type, "ps")

    def test_a_distributed_dataset_is_divided_among_the_workers(self):
        off = tf.data.Options()
        off.experimental_distribute.auto_shard = False
        parts, own, files = [], [], []
        with tempfile.TemporaryDirectory() as directory:
            names = [os.path.join(directory, str(i)) for i in range(4)]
            for i, name in enumerate(names):
                with tf.python_io.TFRecordWriter(name) as writer:
                    for k in range(2):
                        writer.write(f"{i}{k}".encode())
            for index in (0, 1):
                task = {"cluster": {"worker": ["b:1", "c:1"]}, "task": {"type": "worker", "index": index}}
                with mock.patch.dict(os.environ, TF_CONFIG=json.dumps(task)):
                    strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
                with tf.Graph().as_default(), tf.Session() as session:
                    data = tf.data.Dataset.range(8).batch(4, drop_remainder=True)
                    iterators = [strategy.make_dataset_iterator(data)]
                    for d in (data.with_options(off), tf.data.TFRecordDataset(names).batch(2)):
                        d = strategy.experimental_distribute_dataset(d)
                        iterators.append(tf.data.make_initializable_iterator(d))
                    self.assertEqual([2], iterators[0].get_next().shape.as_list())
                    for iterator, found in zip(iterators, (parts, own, files)):
                        session.run(iterator.initializer)
                        value = iterator.get_next()
                        found.append([])
                        with self.assertRaises(tf.errors.OutOfRangeError):
                            while True:
                                found[-1].append(session.run(value).tolist())
                with self.assertRaisesRegex(ValueError, "at least one dimension"):
                    strategy.experimental_distribute_dataset(tf.data.Dataset.range(8))
        self.assertEqual([[[0, 1], [4, 5]], [[2, 3], [6, 7]]], parts)
        self.assertEqual([[[0, 1], [2, 3], [4, 5], [6, 7]]] * 2, own)
        self.assertEqual([[[b"00"], [b"10"], [b"20"], [b"30"]], [[b"01"], [b"11"], [b"21"], [b"31"]]], files)

    def test_layers_of_another_scope_are_refused(self):
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
        task = {"cluster": {"worker": ["b:1", "c:1"]}, "task": {"type": "worker", "index": 0}}
        with mock.patch.dict(os.environ, TF_CONFIG=json.dumps(task)):
            strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
        with strategy.scope():
            with self.assertRaisesRegex(ValueError, "was not created in the distribution strategy scope"):
                model.compile("sgd", "mse")

    def test_one_worker_changes_nothing(self):
        strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
        self.assertEqual(strategy.num_replicas_in_sync, 1)


if __name__ == "__main__":
    unittest.main()
