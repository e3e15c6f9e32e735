"""Savers, checkpoints, graphs with collections, saved models: names, files, what is refused."""

import collections
import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import support  # noqa: F401, before the others: where the package is
import braid
import braid.tensorflow as tf
import numpy as np
from braid import protos
from braid.tensorflow.python.tools import freeze_graph, optimize_for_inference_lib, saved_model_cli
from braid.tensorflow.python.training import checkpoint_management

train = tf.train
_PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(braid.__file__)))


def _names(graph_def):
    return [node.name for node in graph_def.node]


class Directory(unittest.TestCase):
    """Tests with a directory and a new graph with the variables w, of shape [2, 3], and l/b."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.directory = holder.name
        tf.reset_default_graph()
        self.w = tf.get_variable("w", initializer=np.arange(6, dtype=np.float32).reshape(2, 3))
        with tf.variable_scope("l"):
            self.b = tf.get_variable("b", initializer=np.float64(2.5))

    def path(self, name):
        return os.path.join(self.directory, name)

    def session(self):
        session = tf.Session()
        self.addCleanup(session.close)
        session.run(tf.global_variables_initializer())
        return session


class SaverTest(Directory):
    def test_nodes_have_the_names_that_programs_feed(self):
        definition = train.Saver().saver_def
        self.assertEqual(definition.filename_tensor_name, "save/Const:0")
        self.assertEqual(definition.save_tensor_name, "save/control_dependency:0")
        self.assertEqual(definition.restore_op_name, "save/restore_all")
        names = _names(tf.get_default_graph().as_graph_def())
        for name in ("save/SaveV2", "save/RestoreV2", "save/Assign", "save/Assign_1", "save/filename/input"):
            self.assertIn(name, names)
        restore = tf.get_default_graph().get_operation_by_name("save/RestoreV2")
        self.assertEqual(restore.device, "/device:CPU:0")

    def test_keeps_the_newest_and_lists_them(self):
        session, saver = self.session(), train.Saver(max_to_keep=2)
        paths = [saver.save(session, self.path("model"), global_step=step) for step in (1, 2, 3)]
        self.assertEqual(paths[-1], self.path("model-3"))
        self.assertEqual(saver.last_checkpoints, paths[1:])
        self.assertEqual(train.latest_checkpoint(self.directory), paths[-1])
        self.assertFalse(any("model-1" in name for name in os.listdir(self.directory)))
        state = train.get_checkpoint_state(self.directory)
        self.assertEqual(list(state.all_model_checkpoint_paths), paths[1:])
        after_restart = train.Saver(max_to_keep=2, name="other")
        after_restart.recover_last_checkpoints(state.all_model_checkpoint_paths)
        after_restart.save(session, self.path("model"), global_step=4)
        self.assertEqual(after_restart.last_checkpoints, [paths[-1], self.path("model-4")])

    def test_restores_without_initialization(self):
        saver = train.Saver()
        path = saver.save(self.session(), self.path("model"), write_state=False)
        with tf.Session() as session:
            saver.restore(session, path)
            self.assertEqual(session.run(self.w)[1, 2], 5.0)
        self.assertIsNone(train.latest_checkpoint(self.directory))

    def test_names_in_a_dict(self):
        path = train.Saver({"other": self.w}).save(self.session(), self.path("model"))
        self.assertEqual(train.list_variables(path), [("other", [2, 3])])
        self.assertEqual(train.load_variable(path, "other")[1, 2], 5.0)
        reader = train.NewCheckpointReader(path)
        self.assertTrue(reader.has_tensor("other"))
        self.assertEqual(reader.get_variable_to_dtype_map(), {"other": tf.float32})
        with self.assertRaises(tf.errors.NotFoundError):
            reader.get_tensor("w")

    def test_parts_of_a_variable_are_one_tensor(self):
        tf.reset_default_graph()
        for use_resource in (False, True):
            tf.get_variable(
                f"whole{use_resource}",
                [10, 3],
                partitioner=tf.fixed_size_partitioner(3),
                initializer=tf.ones_initializer(),
                use_resource=use_resource,
            )
        saver = train.Saver()
        session = self.session()
        path = saver.save(session, self.path("model"))
        self.assertEqual(train.list_variables(path), [("wholeFalse", [10, 3]), ("wholeTrue", [10, 3])])
        saver.restore(session, path)

    def test_sharded_and_reshaped(self):
        with tf.device("/cpu:0"):
            tf.get_variable("x", [6])
        saver = train.Saver(sharded=True)
        path = saver.save(self.session(), self.path("model"))
        self.assertTrue(os.path.exists(f"{path}.data-00001-of-00002"))
        self.assertEqual(saver.saver_def.save_tensor_name, "save/Identity:0")
        tf.reset_default_graph()
        flat = tf.get_variable("w", [6])
        with tf.Session() as session:
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "mismatch between the current graph"):
                train.Saver().restore(session, path)
            train.Saver(reshape=True).restore(session, path)
            self.assertEqual(session.run(flat)[5], 5.0)

    def test_errors(self):
        saver, session = train.Saver(), self.session()
        path = saver.save(session, self.path("model"))
        for arguments, error in (
            (([self.w, self.w],), "same name"),
            (({"a": self.w, "b": self.w},), "two names"),
            (([self.w], False, False, 5, 1.0, None, False, None, None, True), "deferred"),
        ):
            with self.assertRaisesRegex(ValueError, error):
                train.Saver(*arguments)
        with self.assertRaisesRegex(TypeError, "not a Variable"):
            train.Saver([tf.constant(1)])
        with self.assertRaisesRegex(ValueError, "not a valid checkpoint"):
            saver.restore(session, self.path("other"))
        with self.assertRaisesRegex(ValueError, "collides"):
            saver.save(session, self.path("checkpoint"))
        with self.assertRaisesRegex(TypeError, "must be a Session"):
            saver.save(None, self.path("model"))
        more = tf.get_variable("more", [2])
        with self.assertRaisesRegex(tf.errors.NotFoundError, "graph key that is missing"):
            train.Saver([more]).restore(session, path)
        tf.reset_default_graph()
        with self.assertRaisesRegex(ValueError, "No variables to save"):
            train.Saver()
        self.assertIsNone(train.Saver(allow_empty=True).saver_def)

    def test_programs_save_objects_of_their_own(self):
        from braid.tensorflow.python.training.saver import BaseSaverBuilder

        class Twice(BaseSaverBuilder.SaveableObject):
            def __init__(self, var, name):
                super().__init__(var, [BaseSaverBuilder.SaveSpec(var * 2.0, "", name)], name)

            def restore(self, restored_tensors, restored_shapes):
                return self.op.assign(restored_tensors[0] / 2.0)

        saver = train.Saver([Twice(self.w, "twice")])
        session = self.session()
        path = saver.save(session, self.path("model"))
        self.assertEqual(train.load_variable(path, "twice")[1, 2], 10.0)
        session.run(self.w.assign(tf.zeros([2, 3])))
        saver.restore(session, path)
        self.assertEqual(session.run(self.w)[1, 2], 5.0)


class StateTest(Directory):
    def test_relative_paths_can_be_moved(self):
        checkpoint_management.update_checkpoint_state_internal(
            self.directory, self.path("m-2"), [self.path("m-1"), self.path("m-2")], save_relative_paths=True
        )
        with open(self.path("checkpoint"), encoding="utf-8") as f:
            self.assertIn('model_checkpoint_path: "m-2"\n', f.read())
        state = train.get_checkpoint_state(self.directory)
        self.assertEqual(state.model_checkpoint_path, self.path("m-2"))
        self.assertIsNone(train.latest_checkpoint(self.directory))  # it has no files

    def test_a_damaged_list_is_ignored(self):
        with open(self.path("checkpoint"), "w", encoding="utf-8") as f:
            f.write("no text format")
        self.assertIsNone(train.get_checkpoint_state(self.directory))


class InitializeTest(Directory):
    def test_by_variables_scopes_and_parts(self):
        path = train.Saver().save(self.session(), self.path("model"))
        tf.reset_default_graph()
        with tf.variable_scope("n"):
            w = tf.get_variable("w", [2, 3])
            b = tf.get_variable("b", [], tf.float64)
        parts = tf.get_variable("parts", [2, 3], partitioner=tf.fixed_size_partitioner(2))
        train.init_from_checkpoint(self.directory, {"w": "n/w", "l/b": b})
        train.init_from_checkpoint(path, {"w": list(parts)})
        with self.assertRaisesRegex(ValueError, "is not found in"):
            train.init_from_checkpoint(path, {"v": "n/w"})
        with self.assertRaisesRegex(ValueError, "doesn't match with shape"):
            train.init_from_checkpoint(path, {"w": b})
        session = self.session()
        np.testing.assert_array_equal(session.run(w), session.run(tf.convert_to_tensor(parts)))
        self.assertEqual(session.run([w[1, 2], b]), [5.0, 2.5])

    def test_warm_start(self):
        path = train.Saver().save(self.session(), self.path("model"))
        tf.reset_default_graph()
        with tf.variable_scope("l"):
            b = tf.get_variable("b", [], tf.float64)
        other = tf.get_variable("other", [2, 3])
        train.warm_start(path, var_name_to_prev_var_name={"other": "w"})
        self.assertEqual(self.session().run([b, other[1, 2]]), [2.5, 5.0])

    def test_warm_start_with_another_vocabulary(self):
        path = train.Saver().save(self.session(), self.path("model"))
        files = {"old": "a\nb\n", "new": "b\nc\na\n", "classes": "x\ny\nz\n", "new_classes": "z\nx\n"}
        for name, words in files.items():
            with open(self.path(name), "w", encoding="utf-8") as f:
                f.write(words)
        ones = tf.ones_initializer()
        rows = train.VocabInfo(self.path("new"), 3, 1, self.path("old"), backup_initializer=ones)
        columns = train.VocabInfo(self.path("new_classes"), 2, 0, self.path("classes"), axis=1)
        for partitioner in (None, tf.fixed_size_partitioner(2)):
            tf.reset_default_graph()
            with tf.variable_scope("", partitioner=partitioner):
                w = tf.get_variable("w", [4, 3])
                v = tf.get_variable("v", [2, 2])
            train.warm_start(
                path,
                vars_to_warm_start="[wv]",
                var_name_to_vocab_info={"w": rows, "v": columns},
                var_name_to_prev_var_name={"v": "w"},
            )
            w, v = self.session().run([tf.convert_to_tensor(w), tf.convert_to_tensor(v)])
            self.assertEqual([[3, 4, 5], [1, 1, 1], [0, 1, 2], [1, 1, 1]], w.tolist())
            self.assertEqual([[2, 0], [5, 3]], v.tolist())
        with self.assertRaisesRegex(ValueError, "not used: .'x'"):
            train.warm_start(path, vars_to_warm_start="w", var_name_to_vocab_info={"x": rows})

    def test_a_path_may_be_a_uri(self):
        path = train.Saver().save(self.session(), f"file://{self.path('model')}", global_step=3)
        self.assertEqual(f"file://{self.path('model-3')}", path)
        self.assertEqual(self.path("model-3"), train.latest_checkpoint(self.directory))
        self.assertEqual(path, train.latest_checkpoint(f"file://{self.directory}"))
        self.assertEqual([2, 3], train.load_checkpoint(path).get_variable_to_shape_map()["w"])
        self.assertTrue(os.path.exists(self.path("model-3.meta")))
        tf.reset_default_graph()
        train.import_meta_graph(f"{path}.meta").restore(tf.Session(), path)


class GraphTest(Directory):
    def setUp(self):
        super().setUp()
        self.y = tf.multiply(tf.reduce_sum(self.w), 2.0, name="y")
        tf.add_to_collection("numbers", 3)
        tf.add_to_collection("texts", "a")
        tf.add_to_collection("nodes", self.y)

    def test_shapes_that_a_program_has_set_come_back(self):
        part = tf.placeholder(tf.float32, name="part")
        part.set_shape([None, 3])
        train.export_meta_graph(self.path("graph"))
        for _ in range(2):
            tf.reset_default_graph()
            train.import_meta_graph(self.path("graph"))
            self.assertEqual([None, 3], tf.get_default_graph().get_tensor_by_name("part:0").shape.as_list())
            made = train.export_meta_graph(self.path("graph")).graph_def.node
            self.assertEqual({1}, {len(n.attr["_output_shapes"].list.shape) for n in made if n.op == "Const"})

    def test_import_brings_variables_collections_and_the_saver(self):
        path = train.Saver().save(self.session(), self.path("model"))
        tf.reset_default_graph()
        saver = train.import_meta_graph(path + ".meta", import_scope="imported")
        self.assertEqual(saver.saver_def.restore_op_name, "imported/save/restore_all")
        self.assertEqual([v.name for v in tf.trainable_variables()], ["imported/w:0", "imported/l/b:0"])
        self.assertEqual(tf.get_collection("numbers"), [3])
        self.assertEqual([t.name for t in tf.get_collection("nodes")], ["imported/y:0"])
        with tf.Session() as session:
            saver.restore(session, path)
            self.assertEqual(session.run("imported/y:0"), 30.0)

    def test_a_new_process_knows_the_elements_of_collections(self):
        train.string_input_producer(["a"])
        path = train.Saver().save(self.session(), self.path("model"))
        program = (
            "import braid.tensorflow as tf, sys; tf.train.import_meta_graph(sys.argv[1]); "
            "print(tf.get_collection('queue_runners')[0].name, tf.trainable_variables()[1].name)"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, path + ".meta"],
            env={**os.environ, "PYTHONPATH": _PACKAGES},
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.stdout, "input_producer l/b:0\n", done.stderr)

    def test_export_of_a_scope_needs_its_inputs_again(self):
        with tf.name_scope("part"):
            tf.negative(self.y, name="negative")
        exported = train.export_meta_graph(export_scope="part")
        self.assertEqual(_names(exported.graph_def), ["negative"])
        self.assertEqual(list(exported.graph_def.node[0].input), ["$unbound_inputs_y"])
        tf.reset_default_graph()
        with self.assertRaisesRegex(ValueError, "unbound inputs"):
            train.import_meta_graph(exported)
        train.import_meta_graph(
            exported, import_scope="new", input_map={"$unbound_inputs_y": tf.constant(4.0)}
        )
        self.assertEqual(tf.Session().run("new/negative:0"), -4.0)

    def test_frozen_graphs_have_constants(self):
        path = train.Saver().save(self.session(), self.path("model"))
        frozen = freeze_graph.freeze_graph(
            None,
            "",
            True,
            path,
            "y",
            None,
            None,
            self.path("frozen.pb"),
            True,
            "",
            input_meta_graph=path + ".meta",
        )
        self.assertNotIn("VariableV2", [node.op for node in frozen.node])
        tf.reset_default_graph()
        (y,) = tf.import_graph_def(frozen, return_elements=["y:0"])
        self.assertEqual(tf.Session().run(y), 30.0)
        smaller = tf.graph_util.remove_training_nodes(frozen)
        self.assertNotIn("w/read", _names(smaller))
        with self.assertRaises(AssertionError):
            tf.graph_util.extract_sub_graph(frozen, ["none"])

    def test_frozen_graphs_without_batch_normalization(self):
        tf.reset_default_graph()
        rng = np.random.RandomState(1)
        image = rng.rand(2, 6, 5, 3).astype(np.float32)
        resized = tf.image.resize_bilinear(tf.identity(tf.constant(image), name="image"), [7, 6])
        padded = tf.pad(resized, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
        values = [rng.rand(4).astype(np.float32) for _ in range(4)]

        def normalized(x, training):
            return tf.nn.fused_batch_norm(x, *values, is_training=training, epsilon=0.01)[0]

        first = normalized(tf.nn.conv2d(padded, rng.rand(3, 3, 3, 4) - 0.5, [1] * 4, "VALID"), False)
        filters = tf.constant(rng.rand(2, 2, 4, 1).astype(np.float32))
        second = normalized(tf.nn.depthwise_conv2d(first, filters, [1] * 4, "SAME"), False)
        shared = tf.nn.conv2d(second, rng.rand(1, 1, 4, 4), [1] * 4, "SAME")
        tf.add(normalized(shared, False), shared, name="y")
        before = tf.Session().run("y:0")
        made = optimize_for_inference_lib.optimize_for_inference(
            tf.get_default_graph().as_graph_def(), ["image"], ["y"], tf.float32.as_datatype_enum
        )
        ops = collections.Counter(node.op for node in made.node)
        self.assertEqual((ops["FusedBatchNormV3"], ops["BiasAdd"], ops["FusedResizeAndPadConv2D"]), (1, 2, 1))
        self.assertEqual((ops["MirrorPad"], ops["ResizeBilinear"], ops["Placeholder"]), (0, 0, 1))
        tf.reset_default_graph()
        (y,) = tf.import_graph_def(made, return_elements=["y:0"], name="")
        np.testing.assert_allclose(tf.Session().run(y, {"image:0": image}), before, rtol=1e-4, atol=1e-5)

    def test_graphs_as_text(self):
        path = train.write_graph(tf.get_default_graph(), self.directory, "graph.pbtxt")
        with open(path, encoding="utf-8") as f:
            self.assertTrue(f.read().startswith('node {\n  name: "w'))


class SavedModelTest(Directory):
    def cli(self, *args):
        """What saved_model_cli prints."""
        parsed = saved_model_cli.create_parser().parse_args(args)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            parsed.func(parsed)
        return printed.getvalue()

    def test_the_program_that_shows_and_runs_signatures(self):
        tf.reset_default_graph()
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        saved = self.path("model")
        tf.saved_model.simple_save(tf.Session(), saved, {"in": x}, {"out": tf.add(x, 1.0, name="y")})
        self.assertEqual(
            self.cli("show", "--dir", saved), "The given SavedModel contains the following tag-sets:\nserve\n"
        )
        self.assertIn(
            "\n  The given SavedModel SignatureDef contains the following output(s):\n    outputs['out'] tensor_info:\n"
            "        dtype: DT_FLOAT\n        shape: (-1, 2)\n        name: y:0\n  Method name is: tensorflow/serving/",
            self.cli("show", "--dir", saved, "--all"),
        )
        np.savez(self.path("values"), a=np.zeros([1, 2]), b=np.ones([1, 2]))
        run = ("run", "--dir", saved, "--tag_set", "serve", "--signature_def", "serving_default")
        for inputs in (f"--inputs=in={self.path('values')}.npz[b]", "--input_exprs=in=np.ones([1, 2])"):
            made = self.cli(*run, inputs, "--outdir", self.path("made"), "--overwrite")
            self.assertTrue(made.startswith("Result for output key out:\n[[2. 2.]]\n"), made)
        self.assertEqual(np.load(self.path("made/out.npy")).tolist(), [[2.0, 2.0]])
        for error, args in (
            ("already exists", ("--input_exprs=in=[[1, 1]]", "--outdir", self.path("made"))),
            ("more than one", (f"--inputs=in={self.path('values')}.npz",)),
            ("not a valid input key", ("--input_exprs=none=1",)),
            ("format is incorrect", ("--inputs=in",)),
        ):
            with self.subTest(error=error), self.assertRaisesRegex((RuntimeError, ValueError), error):
                self.cli(*run, *args)

    def test_signature_variables_and_files_come_back(self):
        with open(self.path("words"), "w", encoding="utf-8") as f:
            f.write("one")
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        y = tf.matmul(x, self.w, name="y")
        asset = tf.constant(self.path("words"))
        read = tf.Variable(b"", collections=[tf.GraphKeys.LOCAL_VARIABLES], name="read_words")
        main = tf.group(tf.assign(read, tf.read_file(asset)))
        signature = tf.saved_model.predict_signature_def({"x": x}, {"y": y})
        self.assertTrue(tf.saved_model.is_valid_signature(signature))
        place = self.path("model")
        builder = tf.saved_model.Builder(place.encode())
        with self.assertRaises(AssertionError):
            builder.add_meta_graph(["other"])
        builder.add_meta_graph_and_variables(
            self.session(),
            [tf.saved_model.SERVING],
            {"s": signature},
            assets_collection=[asset],
            main_op=main,
        )
        self.assertEqual(builder.save(), os.path.join(place, "saved_model.pb").encode())
        os.remove(self.path("words"))
        with self.assertRaises(AssertionError):
            tf.saved_model.Builder(place)
        self.assertTrue(tf.saved_model.contains_saved_model(place))
        with tf.Session(graph=tf.Graph()) as session:
            with self.assertRaisesRegex(RuntimeError, "could not be found"):
                tf.saved_model.load(session, ["other"], place)
            loaded = tf.saved_model.load(session, [tf.saved_model.SERVING], place).signature_def["s"]
            got = session.run(loaded.outputs["y"].name, {loaded.inputs["x"].name: [[1.0, 2.0]]})
            np.testing.assert_array_equal(got, [[6.0, 9.0, 12.0]])
            self.assertEqual(session.run("read_words:0"), b"one")
        self.move_assets_to_field(place)
        with tf.Session(graph=tf.Graph()) as session:
            tf.saved_model.load(session, [tf.saved_model.SERVING], place)
            self.assertEqual(session.run("read_words:0"), b"one")

    def test_objects_and_their_variables_are_written(self):
        place = self.path("objects")
        module = tf.Module(name="module")
        module.w, module.parts = self.w, [tf.Variable(4.0, use_resource=True, name="part"), {"key": self.w}]
        session = self.session()
        session.run(module.parts[0].initializer)
        with session.as_default():
            tf.saved_model.save(module, place)
            expected = session.run(self.w)
            with self.assertRaisesRegex(ValueError, "Expected a TensorFlow function"):
                tf.saved_model.save(module, place, signatures={"f": None})
            module.table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, 0)
            with self.assertRaisesRegex(NotImplementedError, "does not write"):
                tf.saved_model.save(module, self.path("other"))
        with self.assertRaisesRegex(ValueError, "Trackable"):
            tf.saved_model.save(1, place)
        with tf.Session(graph=tf.Graph()) as session:
            graph = tf.saved_model.load(session, [tf.saved_model.SERVING], place)
            values = {v.op.name: session.run(v) for v in tf.global_variables()}
            np.testing.assert_array_equal(values[self.w.op.name], expected)
            self.assertEqual(values["part"], 4.0)
        objects = protos.SavedObjectGraph.FromString(graph.object_graph_def).nodes
        kinds = [n.user_object.identifier or n.variable.name for n in objects]
        words = ["_generic_user_object", "trackable_list_wrapper", "trackable_dict_wrapper", "signature_map"]
        self.assertEqual(sorted(kinds), sorted([*words, "part", self.w.op.name]))
        self.assertEqual(sorted(c.local_name for c in objects[0].children), ["parts", "signatures", "w"])
        with tf.Graph().as_default(), tf.Session() as session:
            again = tf.train.Checkpoint(w=tf.Variable(tf.zeros_like(expected)))
            again.restore(os.path.join(place, "variables", "variables")).run_restore_ops()
            np.testing.assert_array_equal(session.run(again.w), expected)

    def _without_objects(self, name, use_resource):
        """A saved model of a builder: an affine function, a table with a file, and a local variable."""
        words, place = pathlib.Path(self.path("words")), self.path(name)
        words.write_text("one\ntwo\n")
        with tf.Graph().as_default(), tf.Session() as session:
            v = tf.get_variable("v", initializer=3.0, use_resource=use_resource)
            w = tf.get_variable("w", initializer=[1.0, 2.0], use_resource=use_resource, trainable=False)
            b = tf.get_local_variable("b", initializer=7.0, use_resource=use_resource)
            x, key = tf.placeholder(tf.float32, name="x"), tf.placeholder(tf.string, [None])
            y = tf.placeholder_with_default([1.0, 1.0], [2], name="y")
            files = tf.GraphKeys.ASSET_FILEPATHS
            tf.add_to_collection(files, tf.constant(str(words)))
            ids = tf.contrib.lookup.index_table_from_file(tf.get_collection(files)[0]).lookup(key)
            affine = tf.add(v * x, b, name="affine")
            v.assign_add(1.0).op
            info = tf.saved_model.utils.build_tensor_info

            def signature(inputs, outputs):
                return tf.saved_model.signature_def_utils.build_signature_def(
                    {k: info(t) for k, t in inputs.items()}, {k: info(t) for k, t in outputs.items()}, "some"
                )

            start = tf.group(tf.tables_initializer(), tf.local_variables_initializer())
            session.run([tf.global_variables_initializer(), start])
            builder = tf.saved_model.builder.SavedModelBuilder(place)
            builder.add_meta_graph_and_variables(
                session,
                ["serve"],
                {
                    "one": signature({"x": x}, {"affine": affine}),
                    "two": signature({"x": x, "y": y}, {"affine": affine, "scaled": w * y}),
                    "ids": signature({"key": key}, {"ids": ids}),
                },
                assets_collection=tf.get_collection(files),
                legacy_init_op=start,
            )
            builder.save()
        words.unlink()
        return place

    def test_signatures_of_a_model_without_objects_are_functions(self):
        for use_resource in (True, False):
            with self.subTest(use_resource=use_resource), tf.Graph().as_default() as graph:
                root = tf.saved_model.load_v2(self._without_objects(f"plain_{use_resource}", use_resource))
                self.assertIsNot(graph, root.graph)
                self.assertEqual(["ids", "one", "two"], sorted(root.signatures))
                called = [
                    root.signatures["one"](tf.constant(2.0)),
                    root.signatures["one"](x=tf.constant([1.0, 2.0])),
                    root.signatures["two"](x=tf.constant(1.0), y=tf.constant([5.0, 6.0])),
                    root.signatures["ids"](tf.constant(["two", "x"])),
                ]
                scaled = root.prune(
                    ["x:0", "y:0"],
                    {"a": "affine:0", "v": "v:0" if not use_resource else "v/Read/ReadVariableOp:0"},
                )
                with self.assertRaisesRegex(TypeError, "Missing: \\['x'\\]"):
                    root.signatures["one"]()
                with self.assertRaisesRegex(Exception, "depends transitively on placeholder .*'x'"):
                    root.prune([], "affine:0")
                pruned = scaled(tf.constant(4.0), tf.constant([1.0, 0.0]))
                count = root.prune([], "AssignAddVariableOp" if use_resource else "AssignAdd:0")()
                with tf.Session() as session:
                    session.run(tf.global_variables_initializer())
                    session.run(tf.tables_initializer())
                    one, some, two, ids = session.run(called)
                    self.assertEqual((13, [10, 13]), (one["affine"], some["affine"].tolist()))
                    self.assertEqual((10, [5, 12]), (two["affine"], two["scaled"].tolist()))
                    self.assertEqual([1, -1], ids["ids"].tolist())
                    self.assertEqual({"a": 19, "v": 3}, session.run(pruned))
                    session.run(count)
                    self.assertEqual(15, session.run(called[0])["affine"])  # the functions have one variable
                    names = [v.name for v in root.variables]
                    if not use_resource:
                        self.assertEqual([], names)
                        continue
                    self.assertEqual(["v:0", "w:0", "b:0"], names)
                    self.assertEqual([True, False, False], [v.trainable for v in root.variables])
                    with tf.GradientTape() as tape:
                        result = root.signatures["one"](tf.constant(5.0))["affine"]
                    self.assertEqual((root.variables[0],), tape.watched_variables())
                    self.assertEqual(5, session.run(tape.gradient(result, root.variables[0])))
                with self.assertRaisesRegex(RuntimeError, "'other'"):
                    tf.saved_model.load_v2(self.path("plain_True"), ["other"])

    def test_a_signature_has_loops(self):
        place = self.path("loops")
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32, [None, 3, 1])
            cell = tf.nn.rnn_cell.BasicRNNCell(1, activation=tf.identity)
            with tf.variable_scope("net", initializer=tf.ones_initializer()):
                y, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
            shape = tf.TensorArray(tf.float32, 3).handle.shape
            self.assertEqual([2], shape.as_list())  # TensorFlow refuses a meta graph that has another
            session.run(tf.global_variables_initializer())
            tf.saved_model.simple_save(session, place, {"x": x}, {"y": y})
        with tf.Graph().as_default(), tf.Session() as session:
            root = tf.saved_model.load_v2(place)
            y = root.signatures["serving_default"](tf.constant([[[1.0], [2.0], [3.0]]]))["y"]
            session.run(tf.tables_initializer())
            self.assertEqual([1, 3, 6], session.run(y).ravel().tolist())

    def test_tables_and_their_files_are_written_and_loaded(self):
        words = pathlib.Path(self.path("words"))
        words.write_text("one\ntwo\n")
        module, place = tf.Module(), self.path("tables")
        numbers = tf.lookup.TextFileInitializer(str(words), tf.string, -2, tf.int64, -1)
        module.of_words = tf.lookup.StaticHashTable(numbers, -1)
        module.of_letters = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [7.0]), 0.0)
        with self.session().as_default():
            tf.saved_model.save(module, place)
        words.unlink()
        find = tf.raw_ops.LookupTableFindV2
        with tf.Graph().as_default(), tf.Session() as session:
            loaded = tf.saved_model.load_v2(place, tags=["serve"])
            found = [
                find(
                    table_handle=loaded.of_words.resource_handle,
                    keys=["two", "x"],
                    default_value=tf.cast(-1, "int64"),
                ),
                find(table_handle=loaded.of_letters.resource_handle, keys=["a"], default_value=0.0),
            ]
            session.run(tf.tables_initializer())
            self.assertEqual([v.tolist() for v in session.run(found)], [[1, -1], [7.0]])
            with self.assertRaisesRegex(ValueError, "incompatible argument tags"):
                tf.saved_model.load_v2(place, tags=["other"])
        with tf.Session(graph=tf.Graph()) as session:  # the graph: its main op fills the tables
            tf.saved_model.load(session, ["serve"], place)
            calls = [o for o in session.graph.get_operations() if o.type == "StatefulPartitionedCall"]
            tables = [o.outputs[0] for o in calls if o.outputs[0].dtype == tf.resource]
            sizes = session.run([tf.raw_ops.LookupTableSizeV2(table_handle=t) for t in tables])
            self.assertEqual(sorted(sizes), [1, 2])

    def move_assets_to_field(self, place):
        """As TensorFlow 2 writes a graph: the files in a field, the tensor with a path has none of its own."""
        file = pathlib.Path(place, "saved_model.pb")
        model = protos.SavedModel.FromString(file.read_bytes())
        graph = model.meta_graphs[0]
        for packed in graph.collection_def.pop("saved_model_assets").any_list.value:
            graph.asset_file_def.add().ParseFromString(packed.value)
        name = graph.asset_file_def[0].tensor_info.name.split(":")[0]
        node = next(n for n in graph.graph_def.node if n.name == name)
        node.op = "Placeholder"
        del node.attr["value"]
        file.write_bytes(model.SerializeToString())


if __name__ == "__main__":
    unittest.main()
