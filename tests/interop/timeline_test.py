# A traced step of a TensorFlow client, from RunOptions to what `braid timeline` makes of its RunMetadata.
# labels: concurrent
# timeout: 120
import json
import os
import subprocess
import tempfile

import cluster as programs_of
from client import InteropTest, Session
from cluster import Cluster, main
from graphs import FLOAT, node, placeholder, variable
from protos import config_pb2

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"
PS_CPU = "/job:ps/replica:0/task:0/device:CPU:0"
WORKER_CPU = "/job:worker/replica:0/task:0/device:CPU:0"


def setUpModule():
    global cluster
    cluster = Cluster(ps=1, worker=1)


def tearDownModule():
    cluster.stop()


class TimelineTest(InteropTest):
    def traced(self):
        """y = x w on the worker, w on the parameter server."""
        s = Session(
            cluster.master(),
            *variable("w", [2, 2], FLOAT, PS, initial=[[1.0, 2.0], [3.0, 4.0]]),
            placeholder("x", FLOAT, [-1, 2], WORKER),
            node("y", "MatMul", "x", "w/read", device=WORKER, T=FLOAT),
        )
        s.run(targets=["w/init"])
        options = {"trace_level": config_pb2.RunOptions.FULL_TRACE}
        return s.step(["y:0"], {"x:0": [[1.0, 1.0]]}, options=options).metadata

    def test_a_node_says_what_it_made(self):
        stats = {d.device: d.node_stats for d in self.traced().step_stats.dev_stats}
        (y,) = (n for n in stats[WORKER_CPU] if n.node_name == "y")
        made = y.output[0].tensor_description
        self.assertEqual([d.size for d in made.shape.dim], [1, 2])
        self.assertEqual(made.allocation_description.requested_bytes, 8)
        self.assertEqual(y.memory[0].total_bytes, 8)

    def test_a_tensor_from_another_task_is_a_transfer(self):
        stats = {d.device: d.node_stats for d in self.traced().step_stats.dev_stats}
        labels = [n.timeline_label for n in stats[WORKER_CPU] if n.node_name == "RecvTensor"]
        self.assertEqual(len(labels), 1, labels)
        self.assertRegex(labels[0], rf"^\[16B\] \S+ from {PS_CPU} to {WORKER_CPU}$")

    def test_the_command_makes_a_timeline_and_a_table_of_it(self):
        program = f"{programs_of.programs}/braid"
        with tempfile.TemporaryDirectory() as where:
            path, out = os.path.join(where, "run_metadata.pb"), os.path.join(where, "step.json")
            with open(path, "wb") as f:
                f.write(self.traced().SerializeToString())
            with open(out, "w") as before:
                subprocess.run([program, "timeline", "--output", out, path], check=True)
                self.assertEqual(
                    os.fstat(before.fileno()).st_nlink, 0
                )  # another file has taken its place, whole
            self.assertEqual(sorted(os.listdir(where)), ["run_metadata.pb", "step.json"])
            nowhere = subprocess.run(
                [program, "timeline", "--output", f"{where}/no/step.json", path],
                capture_output=True,
                text=True,
            )
            self.assertEqual(nowhere.returncode, 1)
            self.assertIn(f"{where}/no", nowhere.stderr)
            with open(out) as f:
                events = json.load(f)["traceEvents"]
            devices = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
            self.assertEqual(set(devices.values()), {PS_CPU, WORKER_CPU})
            ran = {(devices[e["pid"]], e["args"]["name"]) for e in events if e["ph"] == "X"}
            self.assertLessEqual({(PS_CPU, "w/read"), (WORKER_CPU, "y"), (WORKER_CPU, "RecvTensor")}, ran)
            table = subprocess.run(
                [program, "timeline", path], check=True, capture_output=True, text=True
            ).stdout
            self.assertRegex(table, rf"(?m)^{WORKER_CPU}$")
            self.assertRegex(table, r"(?m)^  MatMul +1 .* 8 B$")

    def test_mistakes_in_the_command_line(self):
        program = f"{programs_of.programs}/braid"
        for arguments, code, words in [
            ([], 2, "FILE is missing"),
            (["a", "b"], 2, "unexpected argument 'b'"),
            (["/nowhere"], 1, "NotFound"),
            (["--rows", "-1", "a"], 2, "--rows"),
        ]:
            ended = subprocess.run([program, "timeline", *arguments], capture_output=True, text=True)
            self.assertEqual(ended.returncode, code, arguments)
            self.assertIn(words, ended.stderr)


if __name__ == "__main__":
    main()
