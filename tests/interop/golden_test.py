# Programs recorded from TensorFlow's own front end, replayed on real servers: all roles of a program at once.
# timeout: 400
#
# BRAID_REPLAYS=N in the environment: each program N times, and the times that it took.
import math
import os
import statistics
import tempfile
import time
import unittest.mock
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import replay
from client import InteropTest, Session, master_service
from cluster import Cluster, main
from mnist import examples as digits
from protos import master_pb2
from recorded import programs_in
from replay import Player, Stage

GOLDEN = Path(__file__).resolve().parents[1] / "data" / "golden"
REPLAYS = int(os.environ.get("BRAID_REPLAYS", "1"))

# Of each program its loss, the variables that all roles share, and what shows that it learns: to what `part`
# of its first value the loss falls at least, or, where that is a matter of how many steps came through, by
# how much in each of these. `pull` copies what is shared into the worker's own copies, if the loss is
# computed from them; else they are as old as the worker's last step.
#
# The loss of the last three is the mean of (a + b - 100)^2, which begins with 10,000, and their learning rate
# r is 1e-4: when a and b move by d, it falls by 400 d. SGD moves them by 100 r (a little less as the gradient
# becomes smaller), Adam by r, and Adagrad by r / sqrt(t) in step t, of which there are 120.
Program = namedtuple("Program", "loss shared part fall pull", defaults=[1, 0, None])
AB = ["Variable:0", "Variable_1:0", "global_step:0"]
GLOBAL_AB = ["g/Variable:0", "g/Variable_1:0", "global_step:0"]
PROGRAMS = {
    "deep_mnist_cnn": Program("Mean:0", ["global_step:0"], part=0.6),
    "estimator_dnn_classifier": Program(
        "dnn/head/weighted_loss/Sum:0", ["dnn/hiddenlayer_0/bias/part_0:0", "global_step:0"], part=0.6
    ),
    "estimator_dnn_classifier-local": Program("dnn/head/weighted_loss/Sum:0", [], part=0.6),
    "hogwild_supervisor": Program("Mean:0", ["Variable:0", "Variable_1:0"], part=0.6),
    "local_then_global": Program("Abs:0", ["g/a:0"], part=0.9991),
    "mnist_replica-async-1ps": Program("Neg:0", ["hid_w:0", "sm_b:0", "global_step:0"], part=0.4),
    "mnist_replica-sync-2ps": Program("Neg:0", ["hid_w:0", "sm_b:0", "global_step:0"], part=0.4),
    "downpour": Program("Mean:0", GLOBAL_AB, fall=0.04 / math.sqrt(120), pull="NoOp_1"),
    "sagn": Program("Mean:0", GLOBAL_AB, fall=0.04, pull="NoOp_2"),
    "sync_sgd": Program("Mean:0", AB, fall=3.9),
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
            slowest = max(
                slowest,
                stage.slowest,
                (stage.begin - begin, "starts the servers"),
                (end - stage.end, "stops the servers"),
            )
        loss = self.losses(stage)
        steps = f" in {stage.counted} steps" if stage.counted else ""
        print(
            f"loss {loss[0]:.4f} -> {loss[1]:.4f}{steps}, {len(times)} x "
            f"{statistics.median(times):.1f} s ({min(times):.1f} to {max(times):.1f}), "
            f"slowest {slowest[0]:.1f} s: {slowest[1]} ... ",
            end="",
            flush=True,
        )

    def replay(self, name, roles):
        program = PROGRAMS[name]
        with Cluster(**(roles[0].cluster or {"worker": 1})) as cluster, Cluster(
            local=1
        ) as lone, tempfile.TemporaryDirectory(prefix="braid-replay-") as folder:
            stage = Stage(examples, folder, program.loss, program.pull)
            players = self.players(roles, stage, cluster, lone)
            self.play(players, cluster, lone)
            self.check_loss(program, stage)
            if ACCURACY in stage.fetched:
                self.assertGreater(stage.fetched[ACCURACY][-1], 0.7)
            if program.shared:
                with stage.doing("looks at what all roles share"):
                    self.check_shared(program.shared, players, stage)
            stage.end = time.monotonic()
        return stage

    def players(self, roles, stage, cluster, lone):
        return [
            Player(role, stage, role.server and cluster.address(*role.server), lone.address("local"))
            for role in roles
        ]

    def play(self, players, cluster, lone):
        with ThreadPoolExecutor(len(players)) as processes:
            errors = [future.exception() for future in [processes.submit(player.play) for player in players]]
        errors = [str(error) for error in errors if error]
        if errors:
            logs = [
                f"{server.name}:\n{server.log()[-4000:]}"
                for c in (cluster, lone)
                for server in c.servers.values()
            ]
            self.fail("\n".join(errors + logs))

    def losses(self, stage):
        if stage.losses:
            return stage.losses
        fetched = stage.fetched[stage.loss]
        return statistics.mean(fetched[:5]), statistics.mean(fetched[-5:])

    def check_loss(self, program, stage):
        """A step more may be counted than was there when a worker, just stopped, took its copy."""
        first, last = self.losses(stage)
        self.assertLess(last, program.part * first)
        self.assertLess(last, first - program.fall * (stage.counted - 1))

    def check_shared(self, names, players, stage):
        """All roles see the same; as many steps were counted as done; what was saved is what is restored."""
        views = [
            Session(
                master_service(player.address),
                player.role.sessions[0].graph,
                config=player.role.sessions[0].config,
            )
            for player in players
        ]
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
        with Cluster(**roles[0].cluster) as cluster, Cluster(local=1) as lone, unittest.mock.patch.object(
            replay, "STEP_TIMEOUT_MS", 2000
        ):
            with self.assertRaises(AssertionError) as raised:
                self.play(
                    self.players(roles, Stage(examples, "/nowhere", "Mean:0"), cluster, lone), cluster, lone
                )
        for words in (
            "worker0: DEADLINE_EXCEEDED",
            "worker1: DEADLINE_EXCEEDED",
            "waiting for sync_token_q_Dequeue",
            "worker0, main: run ",
            "worker1, main: run ",
        ):
            self.assertIn(words, str(raised.exception))


examples = {part: digits(part, 2000) for part in ("train", "t10k")}
programs = programs_in(GOLDEN)
for program, its_roles in programs.items():
    setattr(
        GoldenTest,
        f"test_{program.replace('-', '_')}",
        lambda self, program=program, roles=its_roles: self.replay_all(program, roles),
    )

if __name__ == "__main__":
    main()
