"""Writes files by whatever `import tensorflow` finds, or reads those that another has written, for tests.

    files.py write DIRECTORY    a checkpoint of each format, a SavedModel, events, records
    files.py read DIRECTORY     prints what they hold as JSON

Both print what the model gives for the same input.
"""

import glob
import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
import tensorflow as tf

if not hasattr(tf, "placeholder"):
    tf = tf.compat.v1
    tf.disable_v2_behavior()

INPUT = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


def det(shape, dtype=tf.float32, partition_info=None):
    count = int(np.prod([int(size) for size in shape]))
    return tf.reshape(tf.cast(tf.range(count) * 7 % 11 - 5, dtype) / 8.0, shape)


def model():
    """Variables of several kinds, with an optimizer's, after two steps."""
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    step = tf.train.get_or_create_global_step()
    hidden = tf.layers.dense(x, 8, tf.nn.tanh, kernel_initializer=det, name="hidden")
    parts = tf.get_variable("parts", [8, 2], initializer=det, partitioner=tf.fixed_size_partitioner(3))
    resource = tf.get_variable("resource", [2], initializer=det, use_resource=True)
    words = tf.get_variable("words", initializer=tf.constant(["a", "bc"]), trainable=False)
    made = tf.add(tf.matmul(hidden, tf.convert_to_tensor(parts)), resource, name="made")
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["bc", "a"], [1.5, 2.5]), 0.0)
    looked = tf.identity(table.lookup(words), name="looked")
    train = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(tf.square(made)), step, name="train")
    return x, made, looked, train


def results(session, names=("made", "looked", "global_step", "parts/part_1", "hidden/kernel/Adam_1")):
    return [np.asarray(v).tolist() for v in session.run([f"{n}:0" for n in names], {"x:0": INPUT})]


def write(directory):
    x, made, looked, train = model()
    savers = {
        "v2": tf.train.Saver(save_relative_paths=True),
        "v1": tf.train.Saver(write_version=tf.train.SaverDef.V1),
        "sharded": tf.train.Saver(sharded=True),
    }
    tf.summary.scalar("loss", tf.reduce_sum(made))
    tf.summary.histogram("made", made)
    tf.summary.text("text", tf.constant("hello"))
    merged = tf.summary.merge_all()
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        with tf.summary.FileWriter(f"{directory}/events", session.graph) as writer:
            for i in range(2):
                session.run(train, {x: INPUT})
                writer.add_summary(session.run(merged, {x: INPUT}), i)
        for name, saver in savers.items():
            os.makedirs(f"{directory}/{name}", exist_ok=True)
            saver.save(session, f"{directory}/{name}/model", global_step=2)
        tf.saved_model.simple_save(
            session,
            f"{directory}/saved",
            {"x": x},
            {"made": made, "looked": looked},
            legacy_init_op=tf.tables_initializer(),
        )
        frozen = tf.graph_util.convert_variables_to_constants(session, session.graph_def, ["made"])
        tf.train.write_graph(frozen, directory, "frozen.pb", as_text=False)
        tf.train.write_graph(frozen, directory, "frozen.pbtxt")
        found = results(session)
    for compression in ("", "GZIP", "ZLIB"):
        options = tf.python_io.TFRecordOptions(
            getattr(tf.python_io.TFRecordCompressionType, compression or "NONE")
        )
        with tf.python_io.TFRecordWriter(f"{directory}/records{compression}", options) as records:
            for i in range(3):
                records.write(b"record %d" % i)
    return found


def restored(directory, name):
    with tf.Graph().as_default(), tf.Session() as session:
        path = tf.train.latest_checkpoint(f"{directory}/{name}")
        tf.train.import_meta_graph(f"{path}.meta").restore(session, path)
        session.run(tf.tables_initializer())
        return results(session)


def of_saved_model(directory):
    with tf.Graph().as_default(), tf.Session() as session:
        loaded = tf.saved_model.load(session, [tf.saved_model.tag_constants.SERVING], f"{directory}/saved")
        signature = loaded.signature_def["serving_default"]
        fetches = {name: info.name for name, info in sorted(signature.outputs.items())}
        values = session.run(fetches, {signature.inputs["x"].name: INPUT})
        return {name: np.asarray(value).tolist() for name, value in values.items()}


def of_frozen(directory, name):
    graph = tf.GraphDef()
    with open(f"{directory}/{name}", "rb") as file:
        if name.endswith("txt"):
            from google.protobuf import text_format

            text_format.Parse(file.read().decode(), graph)
        else:
            graph.ParseFromString(file.read())
    with tf.Graph().as_default(), tf.Session() as session:
        made = tf.import_graph_def(graph, {}, ["made:0"], name="")
        return session.run(made, {"x:0": INPUT})[0].tolist()


def of_events(directory):
    found = []
    for path in sorted(glob.glob(f"{directory}/events/*")):
        for event in tf.train.summary_iterator(path):
            found += [["graph", len(event.graph_def) > 0]] if event.HasField("graph_def") else []
            for value in event.summary.value:
                kind = value.WhichOneof("value")
                number = value.simple_value if kind == "simple_value" else value.histo.sum
                found.append([event.step, value.tag, kind, round(number, 3)])
    return found


def of_reader(directory):
    """All names, with shapes and sums, of a checkpoint."""
    reader = tf.train.load_checkpoint(tf.train.latest_checkpoint(f"{directory}/v2"))
    found = []
    for name, shape in sorted(reader.get_variable_to_shape_map().items()):
        value = np.asarray(reader.get_tensor(name))
        found.append(
            [name, list(shape), str(value.dtype), None if value.dtype == object else float(value.sum())]
        )
    return found


def read(directory):
    records = {}
    for compression in ("", "GZIP", "ZLIB"):
        options = tf.python_io.TFRecordOptions(
            getattr(tf.python_io.TFRecordCompressionType, compression or "NONE")
        )
        path = f"{directory}/records{compression}"
        records[compression] = [r.decode() for r in tf.python_io.tf_record_iterator(path, options)]
    return {
        **{name: restored(directory, name) for name in ("v2", "v1", "sharded")},
        "saved": of_saved_model(directory),
        "frozen": of_frozen(directory, "frozen.pb"),
        "text": of_frozen(directory, "frozen.pbtxt"),
        "events": of_events(directory),
        "reader": of_reader(directory),
        "records": records,
    }


class Encoder(json.JSONEncoder):
    def default(self, o):
        return o.decode() if isinstance(o, bytes) else super().default(o)


if __name__ == "__main__":
    print("RESULT " + json.dumps({"write": write, "read": read}[sys.argv[1]](sys.argv[2]), cls=Encoder))
