# What a recorder saw of the processes of a program: their sessions, and what they ran in them.
import json

from google.protobuf import text_format

from protos import config_pb2, graph_pb2


class Signature:
    """A kind of run: what it feeds, fetches and targets, and the types of the ops that it reaches."""

    def __init__(self, recorded):
        self.feeds, self.fetches, self.targets = recorded["feeds"], recorded["fetches"], recorded["targets"]
        self.ops = recorded["ops"].keys()
        self.names = [fetch["name"] for fetch in self.fetches]

    def __str__(self):
        return ", ".join(self.names + self.targets)

    checks_ready = property(lambda self: "IsVariableInitialized" in self.ops)
    saves = property(lambda self: "SaveV2" in self.ops)
    # The gradients of several workers are averaged, and each waits for a token of the average.
    is_synchronous = property(lambda self: {"AccumulatorApplyGradient", "QueueDequeueV2"} <= self.ops)
    trains = property(lambda self: self.is_synchronous or any(op.startswith("Apply") for op in self.ops))


class Run:
    """One call of session.run. The runs of a thread follow one another, those of several go on at once."""

    def __init__(self, thread, signature):
        self.thread, self.signature = thread, signature

    is_main = property(lambda self: self.thread == "main")
    # A queue runner repeats its run until the end; how often it did is an accident of the recording.
    is_repeated = property(
        lambda self: self.thread.endswith(":_run") and "QueueCloseV2" not in self.signature.ops
    )


class RecordedSession:
    """A session: its graph, its runs until the main thread has done all of its own, and those of the end."""

    def __init__(self, folder, number, events, signatures):
        def recorded(kind):
            return [e for e in events if e["ev"] == kind and e["sess"] == number]

        (new,) = recorded("new_session")
        self.is_remote, self.is_closed = new["target"] != "", bool(recorded("close"))
        self.config = text_format.Parse(new["config"], config_pb2.ConfigProto())
        self.graph = graph_pb2.GraphDef.FromString((folder / f"sess{number}_graph0.pb").read_bytes())
        runs = runs_of(recorded("run"), signatures)
        main = [i for i, run in enumerate(runs) if run.is_main]
        self.runs, self.last_runs = runs[: main[-1] + 1], runs[main[-1] + 1 :]
        self.steps = sum(1 for run in runs if run.is_main and run.signature.trains)

    def can(self, name):
        return any(node.name == name for node in self.graph.node)

    def signature(self, wanted):
        """The first that has what is wanted, or None."""
        return next((run.signature for run in self.runs if wanted(run.signature)), None)


def runs_of(events, signatures):
    done = []
    for e in events:
        done.append([Run(e["thread"], signatures[e["sig"]])] * e["count"])
        if "period" in e:
            done.extend(done[-e["period"] :] * (e["loops"] - 1))
    return [run for runs in done for run in runs]


class Role:
    """One process of a program that makes sessions. One without a server of its own runs them in itself."""

    def __init__(self, folder):
        recorded = json.loads((folder / "runs.json").read_text())
        events = recorded["events"]
        signatures = [Signature(s) for s in recorded["signatures"]]
        self.name = folder.name
        server = next((e for e in events if e["ev"] == "server_new"), None)
        self.server = (server["job"], server["task"]) if server else None
        self.cluster = {job: len(tasks) for job, tasks in server["cluster"].items()} if server else {}
        self.is_chief = self.server in (None, ("worker", 0))
        numbers = [e["sess"] for e in events if e["ev"] == "new_session"]
        self.sessions = [RecordedSession(folder, number, events, signatures) for number in numbers]


def programs_in(folder):
    """The roles of each program in a folder of recordings, by name; a role without a server is a program of its own."""
    programs = {}
    for path in sorted(folder.glob("**/runs.json")):
        role = Role(path.parent)
        top = path.relative_to(folder).parts[0]
        if role.sessions:
            programs.setdefault(top if role.server else f"{top}-{role.name}", []).append(role)
    return programs
