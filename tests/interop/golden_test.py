# Programs recorded from TensorFlow's own front end, replayed on real servers: all roles of a program at once.
# timeout: 400
#
# BRAID_REPLAYS=N in the environment: each program N times, and the times that it took.
import os
import statistics
import tempfile
import time
import unittest.mock
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import replay
from client import InteropTest, Session, master_service
from cluster import Cluster, main
from mnist import Mnist
from protos import master_pb2, skip_all
from recorded import programs_in
from replay import Player, Stage

SHARED = Path(__file__).resolve().parents[3] / "shared"
GOLDEN, MNIST = SHARED / "golden", SHARED / "mnist"
REPLAYS = int(os.environ.get("BRAID_REPLAYS", "1"))

# Of each program its loss, to what part of its first value it is to fall at least (some train very slowly),
# and the variables that all roles share.
PROGRAMS = {
    "deep_mnist_cnn": ("Mean:0", 0.6, ["global_step:0"]),
    "downpour": ("Mean:0", 0.99995, ["g/Variable:0", "g/Variable_1:0", "global_step:0"]),
    "estimator_dnn_classifier": ("dnn/head/weighted_loss/Sum:0", 0.6,
                                 ["dnn/hiddenlayer_0/bias/part_0:0", "global_step:0"]),
    "estimator_dnn_classifier-local": ("dnn/head/weighted_loss/Sum:0", 0.6, []),
    "hogwild_supervisor": ("Mean:0", 0.6, ["Variable:0", "Variable_1:0"]),
    "local_then_global": ("Abs:0", 0.9991, ["g/a:0"]),
    "mnist_replica-async-1ps": ("Neg:0", 0.4, ["hid_w:0", "sm_b:0", "global_step:0"]),
    "mnist_replica-sync-2ps": ("Neg:0", 0.4, ["hid_w:0", "sm_b:0", "global_step:0"]),
    "sagn": ("Mean:0", 0.99998, ["g/Variable:0", "global_step:0"]),
    "sync_sgd": ("Mean:0", 0.998, ["Variable:0", "Variable_1:0", "global_step:0"]),
}
ACCURACY = "dnn/head/metrics/accuracy/value:0"  # what an evaluation finds, from the checkpoint


class GoldenTest(InteropTest):

    def replay_all(self, name, roles):
        times, slowest = [], (0.0, "")
        for _ in range(REPLAYS):
            begin = time.monotonic()
            stage = self.replay(name, roles)
            end = time.monotonic()
            times.append(end - begin)
            slowest = max(slowest, stage.slowest, (stage.begin - begin, "starts the servers"),
                          (end - stage.end, "stops the servers"))
        loss = self.losses(stage)
        print(f"loss {loss[0]:.4f} -> {loss[1]:.4f}, {len(times)} x {statistics.median(times):.1f} s ({min(times):.1f} "
              f"to {max(times):.1f}), slowest {slowest[0]:.1f} s: {slowest[1]} ... ", end="", flush=True)

    def replay(self, name, roles):
        loss, part, shared = PROGRAMS[name]
        with Cluster(**(roles[0].cluster or {"worker": 1})) as cluster, Cluster(local=1) as lone, \
                tempfile.TemporaryDirectory(prefix="braid-replay-") as folder:
            stage = Stage(examples, folder, loss)
            players = self.players(roles, stage, cluster, lone)
            self.play(players, cluster, lone)
            first, last = self.losses(stage)
            self.assertLess(last, part * first)
            if ACCURACY in stage.fetched:
                self.assertGreater(stage.fetched[ACCURACY][-1], 0.7)
            if shared:
                with stage.doing("looks at what all roles share"):
                    self.check_shared(shared, players, stage)
            stage.end = time.monotonic()
        return stage

    def players(self, roles, stage, cluster, lone):
        return [Player(role, stage, role.server and cluster.address(*role.server), lone.address("local"))
                for role in roles]

    def play(self, players, cluster, lone):
        with ThreadPoolExecutor(len(players)) as processes:
            errors = [future.exception() for future in [processes.submit(player.play) for player in players]]
        errors = [str(error) for error in errors if error]
        if errors:
            logs = [f"{server.name}:\n{server.log()[-4000:]}" for c in (cluster, lone) for server in c.servers.values()]
            self.fail("\n".join(errors + logs))

    def losses(self, stage):
        if stage.losses:
            return stage.losses
        fetched = stage.fetched[stage.loss]
        return statistics.mean(fetched[:5]), statistics.mean(fetched[-5:])

    def check_shared(self, names, players, stage):
        """All roles see the same; as many steps were counted as done; what was saved is what is restored."""
        views = [Session(master_service(player.address), player.role.sessions[0].graph,
                         config=player.role.sessions[0].config) for player in players]
        values = [view.run(names) for view in views]
        for other in values[1:]:
            self.assertEqual(other, values[0])
        if "global_step:0" in names:
            self.check_count(dict(zip(names, values[0]))["global_step:0"], players, stage.gradients)
        chief, role = views[0], players[0].role.sessions[0]
        if role.can("save/restore_all"):
            with stage.doing("saves, resets and restores"):
                self.check_checkpoint(chief, role, names, players[0].path("last"))
        for view in views:
            view.master.close()

    def check_count(self, counted, players, steps):
        if players[0].role.sessions[0].signature(lambda s: s.is_synchronous):
            # Two gradients make a step; those that came late, at the beginning, are dropped.
            self.assertLessEqual(counted, steps / 2)
            self.assertGreaterEqual(counted, 0.4 * steps - 2)
        else:
            # Without locking, one of two that come at once may be lost.
            self.assertLessEqual(counted, steps)
            self.assertGreaterEqual(counted, 0.9 * steps)

    def check_checkpoint(self, session, recorded, names, path):
        def run(signature_or_target):
            session.run(targets=[signature_or_target], feeds={"save/Const:0": path})

        run("save/control_dependency" if not recorded.can("save/Identity") else "save/Identity")
        self.assertTrue(Path(f"{path}.index").exists())
        values = session.run(names)
        session.master.call(master_pb2.ResetRequest())  # takes all variables away
        session = Session(session.master, recorded.graph, config=recorded.config)
        run("save/restore_all")
        self.assertEqual(session.run(names), values)

    def test_a_hang_is_reported(self):
        """Both workers of a synchronous program wait for tokens, and nobody averages gradients."""
        roles = programs_in(GOLDEN)["sync_sgd"]
        for role in roles:
            role.sessions[0].runs = [run for run in role.sessions[0].runs if not run.is_repeated]
        with Cluster(**roles[0].cluster) as cluster, Cluster(local=1) as lone, \
                unittest.mock.patch.object(replay, "STEP_TIMEOUT_MS", 2000):
            with self.assertRaises(AssertionError) as raised:
                self.play(self.players(roles, Stage(examples, "/nowhere", "Mean:0"), cluster, lone), cluster, lone)
        for words in ("worker0: DEADLINE_EXCEEDED", "worker1: DEADLINE_EXCEEDED",
                      "waiting for sync_token_q_Dequeue", "worker0, main: run ", "worker1, main: run "):
            self.assertIn(words, str(raised.exception))


if not GOLDEN.is_dir() or not MNIST.is_dir():
    skip_all(f"no recorded programs or no MNIST in {SHARED}")
examples = {part: Mnist(MNIST, part, 2000) for part in ("train", "t10k")}
programs = programs_in(GOLDEN)
for program, its_roles in programs.items():
    setattr(GoldenTest, f"test_{program.replace('-', '_')}",
            lambda self, program=program, roles=its_roles: self.replay_all(program, roles))

if __name__ == "__main__":
    main()
