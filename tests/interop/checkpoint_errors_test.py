# What a client is told of files and checkpoints that are missing or damaged: which one, and where.
# labels: concurrent
# timeout: 120
import tempfile
from pathlib import Path

from client import InteropTest, Session
from cluster import Cluster, main
from graphs import FLOAT, STRING, const, node, placeholder, variable

PS = "/job:ps/task:0"


def setUpModule():
    global cluster
    cluster = Cluster(ps=1, worker=1)


def tearDownModule():
    cluster.stop()


def checkpoint_of(*names):
    """A variable v of [2, 3], saved; `names` restored from the file that is fed as `path`."""
    return [
        *variable("v", [2, 3], FLOAT, PS, initial=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        placeholder("path", STRING, [], PS),
        const("save/names", [b"v"], STRING, PS),
        const("save/slices", [b""], STRING, PS),
        node("save", "SaveV2", "path", "save/names", "save/slices", "v", device=PS, dtypes=[FLOAT]),
        const("names", [name.encode() for name in names], STRING, PS),
        const("slices", [b""] * len(names), STRING, PS),
        node("restored", "RestoreV2", "path", "names", "slices", device=PS, dtypes=[FLOAT] * len(names)),
        node("content", "ReadFile", "path", device=PS),
    ]


class CheckpointErrorTest(InteropTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="braid-checkpoint-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = str(self.folder / "model.ckpt-7")

    def session(self, *names):
        s = Session(cluster.master(), *checkpoint_of(*(names or ["v"])))
        self.addCleanup(s.close)
        return s

    def save(self, session):
        session.run(targets=["v/init"])
        session.run(targets=["save"], feeds={"path:0": self.path})

    def restore(self, session):
        return session.run("restored:0", {"path:0": self.path})

    def test_what_is_saved_is_restored(self):
        s = self.session()
        self.save(s)
        self.assertEqual(self.restore(s), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])

    def test_a_checkpoint_that_is_not_there(self):
        with self.fails("NOT_FOUND", self.path, "[[{{node restored}}"):
            self.restore(self.session())

    def test_a_tensor_that_is_not_in_the_checkpoint(self):
        s = self.session("v", "nobody")
        self.save(s)
        with self.fails("NOT_FOUND", "nobody", self.path, "[[{{node restored}}"):
            self.restore(s)

    def test_a_file_that_is_not_there(self):
        with self.fails("NOT_FOUND", self.path, "[[{{node content}}"):
            self.session().run("content:0", {"path:0": self.path})

    def test_a_folder_that_cannot_be_made(self):
        (self.folder / "taken").write_text("a file, not a folder")
        self.path = str(self.folder / "taken" / "model.ckpt")
        s = self.session()
        s.run(targets=["v/init"])
        with self.fails("FAILED_PRECONDITION", str(self.folder / "taken"), "[[{{node save}}"):
            s.run(targets=["save"], feeds={"path:0": self.path})

    def test_damage_anywhere_in_a_checkpoint_is_found(self):
        """A changed byte, or an end that is missing, in the data and in the index."""
        s = self.session()
        self.save(s)
        for name in sorted(path.name for path in self.folder.iterdir()):
            file = self.folder / name
            whole = file.read_bytes()
            damages = [
                (f"byte {at}", whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
                for at in {0, len(whole) // 2, len(whole) - 1}
            ]
            damages += [(f"cut at {at}", whole[:at]) for at in {0, len(whole) // 2, len(whole) - 1}]
            for what, content in damages:
                with self.subTest(file=name, damage=what):
                    file.write_bytes(content)
                    with self.fails("DATA_LOSS", str(file), "[[{{node restored}}"):
                        self.restore(s)
            file.write_bytes(whole)
        self.assertEqual(self.restore(s), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])

    def test_a_checkpoint_whose_data_are_gone(self):
        s = self.session()
        self.save(s)
        for data in self.folder.glob("*.data-*"):
            data.unlink()
        with self.fails("NOT_FOUND", ".data-00000-of-00001", "[[{{node restored}}"):
            self.restore(s)

    def test_a_checkpoint_of_another_type(self):
        s = self.session()
        self.save(s)
        other = Session(
            cluster.master(),
            placeholder("path", STRING, [], PS),
            const("names", [b"v"], STRING, PS),
            const("slices", [b""], STRING, PS),
            node("restored", "RestoreV2", "path", "names", "slices", device=PS, dtypes=[STRING]),
        )
        self.addCleanup(other.close)
        with self.fails("INVALID_ARGUMENT", "v", "[[{{node restored}}"):
            self.restore(other)


if __name__ == "__main__":
    main()
