# An error in one task ends the step in all of them, and the client is told the root cause: also while others
# wait for values, fail too, or do not answer at all.
# labels: concurrent
# timeout: 120
import time

from client import InteropTest, Session
from cluster import Cluster, main
from graphs import FLOAT, INT32, const, endless_loop, node, placeholder

PS, MASTER, OTHER = "/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"
# Less than it takes to find out that a task hangs; more than cancelling one that does not answer.
SOON = 10
TRIES = 3  # on a machine that is busy with other work


def setUpModule():
    global cluster
    cluster = Cluster(ps=1, worker=2)


def tearDownModule():
    cluster.stop()


def fragile(name, device):
    """NAME succeeds when NAME/shape is fed with [4], and fails with InvalidArgument on [3]."""
    return [
        const(f"{name}/values", [1.0] * 4, device=device),
        placeholder(f"{name}/shape", INT32, [1], device),
        node(name, "Reshape", f"{name}/values", f"{name}/shape", device=device, T=FLOAT, Tshape=INT32),
    ]


class StepErrorTest(InteropTest):
    def setUp(self):
        """Each task computes something fragile, and sums of what the others computed."""
        names = {"on_ps": PS, "on_master": MASTER, "on_other": OTHER}
        nodes = [n for name, device in names.items() for n in fragile(name, device)]
        for task, device in ("ps", PS), ("master", MASTER), ("other", OTHER):
            nodes.append(node(f"sum_{task}", "AddN", *names, device=device, T=FLOAT, N=3))
        self.fetches = ["sum_ps:0", "sum_master:0", "sum_other:0"]
        self.session = Session(
            cluster.master(), *nodes, *endless_loop("loop_ps", PS), *endless_loop("loop", OTHER)
        )
        self.check_good()

    def tearDown(self):
        self.session.close()

    def feeds(self, *fragile):
        return {
            f"{name}/shape:0": [3 if name in fragile else 4] for name in ("on_ps", "on_master", "on_other")
        }

    def check_good(self):
        self.assertEqual(self.session.run(self.fetches, self.feeds()), [[3.0] * 4] * 3)

    def soon(self, start, *error):
        """Starts a step, which ends soon with this error."""
        for left in reversed(range(TRIES)):
            begin = time.monotonic()
            step = start()
            self.check_error(step, *error)
            took = time.monotonic() - begin
            if took < SOON or not left:
                break
        self.assertLess(took, SOON)
        return step

    def check_fails(self, *fragile, targets=(), **fields):
        """The step ends soon with the error of one of the nodes, as its task words it. Returns the words."""
        step = self.soon(
            lambda: self.session.start(self.fetches, self.feeds(*fragile), targets=targets, **fields),
            "INVALID_ARGUMENT",
            "[[{{node on_",
        )
        self.assertTrue(any(f"{{{{node {name}}}}}" in step.details() for name in fragile), step.details())
        self.assertNotIn("[_Derived_]", step.details())
        return step.details()

    def test_others_wait_for_values_of_the_task_that_fails(self):
        for name in "on_ps", "on_master", "on_other":
            self.check_fails(name)
            self.check_good()

    def test_others_compute_without_end(self):
        for loop in "loop_ps/exit", "loop/exit":
            for name in "on_ps", "on_master", "on_other":
                self.check_fails(name, targets=[loop])
        self.check_good()

    def test_several_tasks_fail_at_the_same_time(self):
        for _ in range(10):
            self.check_fails("on_ps", "on_master")
            self.check_fails("on_ps", "on_other")
            self.check_fails("on_ps", "on_master", "on_other")
        self.check_good()

    def test_the_error_in_the_body_of_the_response(self):
        response = self.session.step(self.fetches, self.feeds("on_other"), store_errors_in_response_body=True)
        self.check_status(response, "INVALID_ARGUMENT", "{{node on_other}}")
        self.assertNotIn("[_Derived_]", response.status_error_message)

    def test_one_fails_while_another_does_not_answer(self):
        for frozen, names in ("ps", ("on_master", "on_other")), ("other", ("on_ps", "on_master")):
            task = cluster.server("ps") if frozen == "ps" else cluster.server("worker", 1)
            for name in names:
                task.pause()
                try:
                    self.check_fails(name)
                finally:
                    task.go_on()
                self.check_good()

    def test_one_fails_before_another_that_does_not_answer_has_registered_its_part(self):
        self.fetches = ["sum_ps:0", "sum_other:0"]  # another signature: its graphs are new to the tasks
        cluster.server("worker", 1).pause()
        try:
            options = {"timeout_in_ms": 500}
            self.soon(
                lambda: self.session.start(self.fetches, self.feeds("on_ps"), options=options),
                "DEADLINE_EXCEEDED",
                OTHER,
                "has not registered",
            )
        finally:
            cluster.server("worker", 1).go_on()
        self.assertEqual(self.session.run(self.fetches, self.feeds()), [[3.0] * 4] * 2)


if __name__ == "__main__":
    main()
