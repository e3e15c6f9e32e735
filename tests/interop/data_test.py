# Input pipelines on Braid servers, as a client of tf.data sends them: training from one, its end, its errors,
# many steps at once.
# labels: concurrent
# timeout: 180
import os
import struct
import tempfile
import threading

from google.protobuf import text_format

from client import InteropTest, Session
from cluster import Cluster, main
from graphs import FLOAT, INT64, STRING, Shape, Type, const, graph, node, value

PS, WORKER = "/job:ps/replica:0/task:0/device:CPU:0", "/job:worker/replica:0/task:0/device:CPU:0"

# Two floats of a record: x and y.
PARSE = """
function {
  signature { name: "parse" input_arg { name: "record" type: DT_STRING }
              output_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } }
  node_def { name: "raw" op: "DecodeRaw" input: "record" attr { key: "out_type" value { type: DT_FLOAT } }
             attr { key: "little_endian" value { b: true } } }
  node_def { name: "axis" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
             attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } } }
  node_def { name: "pair" op: "Split" input: "axis:output:0" input: "raw:output:0"
             attr { key: "T" value { type: DT_FLOAT } } attr { key: "num_split" value { i: 2 } } }
  ret { key: "x" value: "pair:output:0" } ret { key: "y" value: "pair:output:1" }
}
"""


def setUpModule():
    global cluster
    cluster = Cluster(ps=1, worker=1)


def tearDownModule():
    cluster.stop()


def with_library(library, *nodes):
    g = graph(*nodes)
    text_format.Merge(f"library {{ {library} }}", g)
    return g


def components(*types):
    return dict(output_types=list(types), output_shapes=[Shape(None)] * len(types))


def iterator(dataset, *types, name="it"):
    return [
        node(name, "IteratorV2", device=WORKER, shared_name=b"", container=b"", **components(*types)),
        node(name + "/make", "MakeIterator", dataset, name, device=WORKER),
        node(name + "/next", "IteratorGetNext", name, device=WORKER, **components(*types)),
    ]


def range_nodes(n, device=WORKER):
    return [
        const("zero", 0, INT64, device=device),
        const("n", n, INT64, device=device),
        const("one", 1, INT64, device=device),
        node("range", "RangeDataset", "zero", "n", "one", device=device, **components(INT64)),
    ]


class DataTest(InteropTest):
    def session(self, *nodes):
        return Session(cluster.master(), *nodes)

    def test_elements_and_the_end(self):
        s = self.session(
            *range_nodes(5),
            const("two", 2, INT64, device=WORKER),
            node("d", "BatchDataset", "range", "two", device=WORKER, **components(INT64)),
            *iterator("d", INT64),
        )
        with self.fails("FAILED_PRECONDITION", "the iterator has not been initialized", "{{node it/next}}"):
            s.run("it/next:0")
        for _ in range(2):
            s.run([], targets=["it/make"])
            self.assertEqual([s.run("it/next:0") for _ in range(3)], [[0, 1], [2, 3], [4]])
            with self.fails("OUT_OF_RANGE", "End of sequence", "{{node it/next}}"):
                s.run("it/next:0")

    def test_a_feedable_iterator(self):
        s = self.session(
            *range_nodes(3),
            *iterator("range", INT64),
            node("to", "IteratorToStringHandle", "it", device=WORKER),
            node("handle", "Placeholder", device=WORKER, dtype=STRING, shape=Shape([])),
            node("from", "IteratorFromStringHandleV2", "handle", device=WORKER, **components(INT64)),
            node("got", "IteratorGetNext", "from", device=WORKER, **components(INT64)),
        )
        s.run([], targets=["it/make"])
        handle = s.run("to:0")
        self.assertEqual([s.run("got:0", {"handle:0": handle}) for _ in range(3)], [0, 1, 2])

    def test_many_steps_at_once(self):
        s = self.session(
            *range_nodes(400),
            node("d", "PrefetchDataset", "range", "one", device=WORKER, **components(INT64)),
            *iterator("d", INT64),
        )
        s.run([], targets=["it/make"])
        got = []
        threads = [
            threading.Thread(target=lambda: got.extend(s.run("it/next:0") for _ in range(100)))
            for _ in range(4)
        ]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(sorted(got), list(range(400)))

    def test_a_data_set_stays_on_its_task(self):
        s = self.session(*range_nodes(3, device=PS), *iterator("range", INT64))
        with self.fails("UNIMPLEMENTED", "tensorflow::DatasetVariantWrapper cannot leave the process"):
            s.run([], targets=["it/make"])

    def test_training_from_records(self):
        """y = 3 x - 1, from a TFRecord file by map, shuffle, repeat, batch and prefetch, by gradient descent."""
        with tempfile.TemporaryDirectory() as dir:
            path = os.path.join(dir, "xy")
            self.write_records(path, [(i / 50 - 1, 3 * (i / 50 - 1) - 1) for i in range(100)])
            s = self.session(with_library(PARSE, *self.pipeline(path), *self.model()))
            s.run([], targets=["it/make", "w/init", "b/init"])
            for _ in range(400):
                s.run([], targets=["w/train", "b/train"])
            w, b = s.run(["w/read:0", "b/read:0"])
            self.assertAlmostEqual(w[0], 3, places=2)
            self.assertAlmostEqual(b[0], -1, places=2)

    def pipeline(self, path):
        def stage(name, op, dataset, *inputs, types=(FLOAT, FLOAT), **attrs):
            return node(name, op, dataset, *inputs, device=WORKER, **attrs, **components(*types))

        def number(name, n, dtype=INT64):
            return const(name, n, dtype, device=WORKER)

        mapped = stage("mapped", "ParallelMapDataset", "records", "calls", Targuments=[])
        mapped.attr["f"].func.name = "parse"
        return [
            const("path", [path.encode()], STRING, device=WORKER),
            const("plain", b"", STRING, device=WORKER),
            number("zero", 0),
            node("records", "TFRecordDataset", "path", "plain", "zero", device=WORKER),
            const("calls", 3, device=WORKER),
            mapped,
            number("hundred", 100),
            number("seed", 7),
            stage("shuffled", "ShuffleDataset", "mapped", "hundred", "seed", "zero"),
            number("all", -1),
            stage("repeated", "RepeatDataset", "shuffled", "all"),
            number("ten", 10),
            stage("batched", "BatchDataset", "repeated", "ten"),
            number("two", 2),
            stage("ready", "PrefetchDataset", "batched", "two"),
            *iterator("ready", FLOAT, FLOAT),
        ]

    def model(self):
        def math(name, op, *inputs):
            return node(name, op, *inputs, T=FLOAT)

        nodes = [
            const("rate", 0.1),
            const("axes", [0, 1]),
            math("wx", "Mul", "it/next:0", "w/read"),
            math("out", "Add", "wx", "b/read"),
            math("error", "Sub", "out", "it/next:1"),
            math("slope", "Mul", "error", "it/next:0"),
        ]
        for name, gradient in (("w", "slope"), ("b", "error")):
            nodes += [
                node(name, "VariableV2", device=PS, dtype=FLOAT, shape=Shape([1])),
                const(name + "/zero", [0.0]),
                node(name + "/init", "Assign", name, name + "/zero", device=PS, T=FLOAT),
                node(name + "/read", "Identity", name, device=PS, T=FLOAT),
                node(name + "/mean", "Mean", gradient, "first", T=FLOAT, Tidx=Type(3)),
                node(
                    name + "/train", "ApplyGradientDescent", name, "rate", name + "/mean", device=PS, T=FLOAT
                ),
            ]
        return nodes + [const("first", 0)]

    def write_records(self, path, pairs):
        with open(path, "wb") as f:
            for pair in pairs:
                data = struct.pack("<ff", *pair)
                length = struct.pack("<Q", len(data))
                f.write(length + masked_crc(length) + data + masked_crc(data))


def masked_crc(data):
    """CRC32C as a TFRecord file has it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


if __name__ == "__main__":
    main()
