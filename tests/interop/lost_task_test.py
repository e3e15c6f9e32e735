# What a client is told when tasks die, come back or never start.
# labels: concurrent
# timeout: 120
from client import InteropTest, Session, master_service
from cluster import Cluster, main
from graphs import FLOAT, const, endless_loop, node, variable
from protos import config_pb2, grpc, master_pb2

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"


def model():
    return [*variable("v", [], FLOAT, PS, initial=2.0), node("y", "Square", "v/read", device=WORKER, T=FLOAT)]


class SlowTaskTest(InteropTest):
    def test_a_server_that_is_slow_to_accept_is_waited_for(self):
        with Cluster(worker=1) as cluster:
            cluster.server("worker").pause()
            master = master_service(cluster.address("worker"))
            call = master.start(master_pb2.ListDevicesRequest())
            with self.assertRaises(grpc.FutureTimeoutError):
                call.result(timeout=0.5)
            cluster.server("worker").go_on()
            self.assertEqual(len(call.result().local_device), 1)
            master.close()


class DeadTaskTest(InteropTest):
    def test_a_task_that_died_is_named(self):
        with Cluster(ps=1, worker=1) as cluster:
            s = Session(cluster.master(), *model())
            s.run(["y:0"], targets=["v/init"])
            cluster.kill("ps")
            for _ in range(3):
                with self.fails("UNAVAILABLE", PS, cluster.address("ps")):
                    s.run("y:0")

    def test_a_step_ends_when_a_task_of_it_dies(self):
        with Cluster(ps=1, worker=1) as cluster:
            s = Session(
                cluster.master(),
                *model(),
                *endless_loop("loop", PS),
                node("after", "Abs", "y", "^loop/exit", device=WORKER, T=FLOAT),
            )
            s.run(["y:0"], targets=["v/init"])
            step = s.start(["after:0"])
            s.run("y:0")  # another one passes meanwhile
            cluster.kill("ps")
            self.check_error(step, "UNAVAILABLE", PS, cluster.address("ps"))

    def test_a_task_that_restarted_aborts_old_sessions(self):
        with Cluster(ps=1, worker=1) as cluster:
            s = Session(cluster.master(), *model())
            s.run(targets=["v/init"])
            self.assertEqual(s.run("y:0"), 4.0)
            cluster.kill("ps")
            cluster.start("ps")
            cluster.master().call(master_pb2.ListDevicesRequest())  # the master has found it again
            with self.fails("ABORTED", "Graph handle is not found", PS.replace("/task", "/replica:0/task")):
                s.run("y:0")
            with self.fails("ABORTED", "Session handle is not found"):  # a graph that it has not seen
                s.run("v:0")
            s.close()
            s = Session(cluster.master(), *model())  # as clients recover
            with self.fails("FAILED_PRECONDITION", "Attempting to use uninitialized value v"):
                s.run("y:0")
            self.assertEqual(s.run(["y:0"], targets=["v/init"]), [4.0])

    def test_a_master_that_restarted_has_lost_its_sessions(self):
        with Cluster(ps=1, worker=1) as cluster:
            s = Session(cluster.master(), *model())
            s.run(targets=["v/init"])
            cluster.kill("worker")
            with self.fails("UNAVAILABLE"):
                s.run("y:0")
            cluster.start("worker")
            cluster.master().call(master_pb2.ListDevicesRequest(), wait_for_ready=True)
            with self.fails("ABORTED", f"Session {s.handle} is not found"):
                s.run("y:0")
            self.assertEqual(Session(cluster.master(), *model()).run("y:0"), 4.0)  # the variable is there


class AbsentTaskTest(InteropTest):
    def test_a_session_waits_for_absent_tasks_and_then_names_them(self):
        with Cluster(ps=2, worker=1, absent=[("ps", 1)]) as cluster:
            known = 0
            for _ in range(3):  # on a busy machine it may wait for the answer of the other task, too
                config = config_pb2.ConfigProto(operation_timeout_in_ms=3000)
                with self.fails("DEADLINE_EXCEEDED", "/job:ps/task:1", cluster.address("ps", 1)):
                    Session(cluster.master(), config=config)
                lines = cluster.server("worker").log().splitlines()
                log = [line for line in lines[known:] if "waits for" in line]
                known = len(lines)
                if len(log) == 1 and "/job:ps/task:0" not in log[0]:
                    break
            self.assertEqual(len(log), 1, log)  # said once
            self.assertIn("/job:ps/task:1", log[0])
            self.assertNotIn("/job:ps/task:0", log[0])

    def test_the_timeout_of_the_server_for_sessions(self):
        with Cluster(ps=1, worker=1, absent=[("ps", 0)], options=["--session-timeout", "0.3"]) as cluster:
            with self.fails("DEADLINE_EXCEEDED", PS, cluster.address("ps")):
                Session(cluster.master())

    def test_a_session_begins_as_soon_as_the_task_comes(self):
        with Cluster(ps=1, worker=1, absent=[("ps", 0)]) as cluster:
            create = cluster.master().start(master_pb2.CreateSessionRequest())
            self.assertFalse(create.done())
            cluster.start("ps")
            self.assertTrue(create.result().session_handle)

    def test_a_session_that_filters_the_absent_task_out_does_not_wait(self):
        with Cluster(ps=1, worker=1, absent=[("ps", 0)]) as cluster:
            s = Session(
                cluster.master(),
                const("a", 3.0),
                config=config_pb2.ConfigProto(device_filters=["/job:worker/task:0"]),
            )
            self.assertEqual(s.run("a:0"), 3.0)

    def test_waiting_can_be_cancelled(self):
        with Cluster(ps=1, worker=1, absent=[("ps", 0)]) as cluster:
            create = cluster.master().start(master_pb2.CreateSessionRequest())
            create.cancel()
            with self.assertRaises(grpc.FutureCancelledError):
                create.result()
            with self.fails("DEADLINE_EXCEEDED"):
                Session(cluster.master(), timeout=0.3)


if __name__ == "__main__":
    main()
