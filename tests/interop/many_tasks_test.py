# A step of many tasks that errors in one of them: it ends in all of them, at once, with the root cause.
# labels: concurrent
# timeout: 120
import time

from client import InteropTest, Session
from cluster import Cluster, main
from graphs import FLOAT, INT32, Shape, const, endless_loop, node, placeholder

TASKS = ["/job:ps/task:0", "/job:ps/task:1", "/job:worker/task:0", "/job:worker/task:1"]
PROMPT = 50  # seconds that nothing here takes, however busy the machine; what is not cancelled takes for ever


def setUpModule():
    global cluster
    cluster = Cluster(ps=2, worker=2)


def tearDownModule():
    cluster.stop()


def name_of(task):
    return task.replace("/job:", "").replace("/task:", "_")


def queue_of(task):
    """A queue of the task: NAME/put, and NAME/take, which waits."""
    name, types = name_of(task), {"component_types": [INT32]}
    return [
        node(f"{name}/queue", "FIFOQueueV2", device=task, shapes=[Shape([])], shared_name=name, **types),
        const(f"{name}/one", 1, device=task),
        node(
            f"{name}/put", "QueueEnqueueV2", f"{name}/queue", f"{name}/one", device=task, Tcomponents=[INT32]
        ),
        node(f"{name}/take", "QueueDequeueV2", f"{name}/queue", device=task, **types),
        node(f"{name}/size", "QueueSizeV2", f"{name}/queue", device=task),
    ]


def wrong_in(task):
    """A product that its task cannot compute; the others wait for it, each in its way."""
    nodes = [placeholder("a", FLOAT, None, task), node("wrong", "MatMul", "a", "a", device=task, T=FLOAT)]
    for other in TASKS:
        name = name_of(other)
        nodes += [
            *queue_of(other),
            *endless_loop(f"{name}/loop", other),
            node(f"{name}/needs", "Neg", "wrong", device=other, T=FLOAT),
        ]
    return nodes


class ManyTasksTest(InteropTest):
    def check_step(self, session, fetches):
        begin = time.monotonic()
        step = session.start(fetches, {"a:0": [[1.0, 2.0]]}, timeout=PROMPT + 10)
        self.check_error(step, "INVALID_ARGUMENT", "MatMul", "[1,2]", "[[{{node wrong}}")
        self.assertNotIn("[_Derived_]", step.details())
        self.assertLess(time.monotonic() - begin, PROMPT)

    def test_it_ends_in_all_tasks_with_the_root_cause(self):
        for task in TASKS:
            for master in ("worker", 0), ("worker", 1), ("ps", 0):
                s = Session(cluster.master(*master), *wrong_in(task))
                names = [name_of(other) for other in TASKS]
                for what in "needs:0", "take:0", "loop/exit:0":
                    self.check_step(s, ["wrong:0"] + [f"{name}/{what}" for name in names])
                # Nothing of those steps still waits for an element.
                s.run(targets=[f"{name}/put" for name in names])
                self.assertEqual(s.run([f"{name}/size:0" for name in names]), [1] * len(names))
                self.assertEqual(s.run([f"{name}/take:0" for name in names]), [1] * len(names))
                s.close()

    def test_many_errors_at_once_are_one(self):
        nodes = []
        for task in TASKS:
            name = name_of(task)
            nodes += [
                placeholder(f"{name}/a", FLOAT, None, task),
                node(f"{name}/wrong", "MatMul", f"{name}/a", f"{name}/a", device=task, T=FLOAT),
            ]
        s = Session(cluster.master(), *nodes)
        feeds = {f"{name_of(task)}/a:0": [[1.0, 2.0]] for task in TASKS}
        for _ in range(20):
            step = s.start([f"{name_of(task)}/wrong:0" for task in TASKS], feeds, timeout=PROMPT)
            self.check_error(step, "INVALID_ARGUMENT", "MatMul", "[[{{node ")
            self.assertEqual(step.details().count("[[{{node "), 1)

    def test_a_chain_through_all_tasks(self):
        """The error is passed on from task to task, and stays the first one's."""
        nodes = [
            placeholder("a", FLOAT, None, TASKS[0]),
            node("wrong", "MatMul", "a", "a", device=TASKS[0], T=FLOAT),
        ]
        for i, task in enumerate(TASKS[1:] * 3):
            nodes.append(node(f"n{i}", "Neg", f"n{i - 1}" if i else "wrong", device=task, T=FLOAT))
        s = Session(cluster.master(), *nodes)
        for _ in range(20):
            self.check_step(s, [f"n{i}:0"])

    def test_cancelling_ends_it_in_all_tasks(self):
        nodes = [n for task in TASKS for n in queue_of(task)]
        s = Session(cluster.master(), *nodes)
        names = [name_of(task) for task in TASKS]
        for _ in range(20):
            step = s.start([f"{name}/take:0" for name in names])
            step.cancel()
        s.close()  # ends when its steps have ended
        s = Session(cluster.master(), *nodes)
        s.run(targets=[f"{name}/put" for name in names])
        self.assertEqual(s.run([f"{name}/size:0" for name in names]), [1] * len(names))
        self.assertEqual(s.run([f"{name}/take:0" for name in names]), [1] * len(names))


if __name__ == "__main__":
    main()
