# Input as programs of TensorFlow 1 read it: names of files in a queue, a reader, lines decoded as CSV;
# Example messages parsed; all by another implementation of gRPC, with references and with resources as
# handles.
# labels: concurrent
import os
import tempfile

from client import InteropTest, Session, master_service
from cluster import Cluster, main
from graphs import FLOAT, INT32, INT64, STRING, Shape, const, node, placeholder, tensor

PS = "/job:ps/task:0"


def setUpModule():
    global cluster, directory
    cluster = Cluster(ps=1, worker=1)
    directory = tempfile.TemporaryDirectory()


def tearDownModule():
    cluster.stop()
    directory.cleanup()


def write(name, text):
    path = os.path.join(directory.name, name)
    with open(path, "wb") as f:
        f.write(text.encode() if isinstance(text, str) else text)
    return path


def input_nodes(reader, v2, **attrs):
    """A queue of names, a reader, and what tf.train.string_input_producer and reader.read make."""
    end = "V2" if v2 else ""
    return [
        node(
            "names", "FIFOQueue" + end, device=PS, component_types=[STRING], shapes=[Shape([])], capacity=32
        ),
        placeholder("files", STRING, None, PS),
        node("put", "QueueEnqueueMany" + end, "names", "files", device=PS, Tcomponents=[STRING]),
        node("close", "QueueClose" + end, "names", device=PS),
        node("reader", reader + end, device=PS, **attrs),
        node("read", "ReaderRead" + end, "reader", "names", device=PS),
        node("count", "ReaderNumRecordsProduced" + end, "reader", device=PS),
        node("works", "ReaderNumWorkUnitsCompleted" + end, "reader", device=PS),
    ]


def session(*nodes):
    return Session(master_service(cluster.address("worker")), *nodes)


def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def example(**features):
    """A serialized Example of int64 features."""
    entries = [
        field(1, field(1, key.encode()) + field(2, field(3, field(1, bytes(values)))))
        for key, values in features.items()
    ]
    return field(1, b"".join(entries))


class ReadersTest(InteropTest):
    def read_lines(self, v2):
        one, two = write("one.csv", "x,y\n1,2.5\n3,4\n"), write("two.csv", "x,y\n5,6")
        s = session(
            *input_nodes("TextLineReader", v2, skip_header_lines=1),
            node("no_int", "Const", device=PS, dtype=INT32, value=tensor([], INT32)),
            const("half", [0.5], FLOAT, PS),
            node("csv", "DecodeCSV", "read:1", "no_int", "half", device=PS, OUT_TYPE=[INT32, FLOAT]),
        )
        s.run([], {"files:0": tensor([one, two])}, ["put"])
        self.assertEqual(s.run(["read:0", "csv:0", "csv:1"]), [f"{one}:2".encode(), 1, 2.5])
        self.assertEqual(s.run(["csv:0", "csv:1"]), [3, 4.0])
        self.assertEqual(s.run(["read:0", "csv:0"]), [f"{two}:2".encode(), 5])
        self.assertEqual(s.run(["count:0", "works:0"]), [3, 1])
        with self.fails("DEADLINE_EXCEEDED"):  # it waits for a name
            s.run("read:0", options={"timeout_in_ms": 100})
        s.run([], {"files:0": tensor([one])}, ["put"])
        self.assertEqual(s.run("csv:0"), 1)
        s.run(targets=["close"])
        self.assertEqual(s.run("csv:0"), 3)
        with self.fails("OUT_OF_RANGE", "is closed and has insufficient elements"):
            s.run("read:0")
        s.close()

    def test_lines_by_reference(self):
        self.read_lines(v2=False)

    def test_lines_by_resource(self):
        self.read_lines(v2=True)

    def test_whole_files_are_parsed(self):
        a, b = write("a", example(x=[1, 2], y=[7])), write("b", example(x=[3, 4]))
        s = session(
            *input_nodes("WholeFileReader", False),
            const("count_to_read", 1, INT64, PS),
            node("read_two", "ReaderReadUpTo", "reader", "names", "count_to_read", device=PS),
            node("no_names", "Const", device=PS, dtype=STRING, value=tensor([], STRING)),
            const("x", "x", STRING, PS),
            const("y", "y", STRING, PS),
            node("none", "Const", device=PS, dtype=INT64, value=tensor([], INT64)),
            node(
                "parsed",
                "ParseExample",
                "read_two:1",
                "no_names",
                "y",
                "x",
                "none",
                device=PS,
                Nsparse=1,
                Ndense=1,
                sparse_types=[INT64],
                Tdense=[INT64],
                dense_shapes=[Shape([2])],
            ),
        )
        s.run([], {"files:0": tensor([a, b])}, ["put"])
        self.assertEqual(s.run(["parsed:3", "parsed:1"]), [[[1, 2]], [7]])
        self.assertEqual(s.run(["parsed:3", "parsed:2"]), [[[3, 4]], [1, 0]])
        s.run([], {"files:0": tensor(["/none"])}, ["put"])
        with self.fails("NOT_FOUND", "/none", "read_two"):
            s.run("parsed:3")
        s.close()

    def test_checkpoints_of_the_first_format(self):
        path = os.path.join(directory.name, "first")
        s = session(
            const("path", path, STRING, PS),
            const("keys", ["v", "step"], STRING, PS),
            const("v", [[1.5, 2.0]], FLOAT, PS),
            const("step", 7, INT64, PS),
            const("key", "v", STRING, PS),
            node("save", "Save", "path", "keys", "v", "step", device=PS, T=[FLOAT, INT64]),
            node("restore", "Restore", "path", "key", device=PS, dt=FLOAT),
            const("whole", ["", ""], STRING, PS),
            node("restore_all", "RestoreV2", "path", "keys", "whole", device=PS, dtypes=[FLOAT, INT64]),
        )
        s.run(targets=["save"])
        self.assertEqual(s.run(["restore:0", "restore_all:1"]), [[[1.5, 2.0]], 7])
        s.close()


if __name__ == "__main__":
    main()
