# A generic gRPC client of TensorFlow's services: nothing of it is Braid's.
import unittest
from contextlib import contextmanager

from graphs import graph, tensor, value
from protos import config_pb2, graph_pb2, grpc, master_pb2, named_tensor_pb2, tensor_pb2, worker_pb2

# Longer than anything here takes on a busy machine, with sanitizers too; what waits so long has failed.
TIMEOUT = 60

# Connections of their own for each channel, again soon after a loss, without limits on messages or a proxy.
# (Not grpc.min_reconnect_backoff_ms: it bounds how long a server may take to accept, and a busy one takes
# long.)
CHANNEL_OPTIONS = [
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 20),
    ("grpc.max_reconnect_backoff_ms", 200),
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.enable_http_proxy", 0),
]


class Service:
    """Calls to one service of the server at an address. The type of a request names its method."""

    def __init__(self, address, name, messages):
        self.channel = grpc.insecure_channel(address, CHANNEL_OPTIONS)
        self.name, self.messages = name, messages

    def start(self, request, timeout=TIMEOUT, wait_for_ready=False):
        """Begins a call; returns its future."""
        method = type(request).__name__[: -len("Request")]
        read = getattr(self.messages, f"{method}Response").FromString
        return self.start_raw(method, request.SerializeToString(), read, timeout, wait_for_ready)

    def start_raw(self, method, content, read=None, timeout=TIMEOUT, wait_for_ready=False):
        call = self.channel.unary_unary(f"/tensorflow.{self.name}/{method}", response_deserializer=read)
        return call.future(content, timeout, wait_for_ready=wait_for_ready)

    def call(self, request, timeout=TIMEOUT, wait_for_ready=False):
        """The response; raises grpc.RpcError."""
        return self.start(request, timeout, wait_for_ready).result()

    def close(self):
        self.channel.close()


def master_service(address):
    return Service(address, "MasterService", master_pb2)


def worker_service(address):
    return Service(address, "WorkerService", worker_pb2)


def named(name, v):
    t = v if isinstance(v, tensor_pb2.TensorProto) else tensor(v)
    return named_tensor_pb2.NamedTensorProto(name=name, tensor=t)


class Session:
    """A session of a master, begun with some nodes (or a GraphDef)."""

    def __init__(self, master, *nodes, config=None, timeout=TIMEOUT):
        self.master = master
        begin = master_pb2.CreateSessionRequest(graph_def=as_graph(nodes), config=config)
        response = master.call(begin, timeout)
        self.handle, self.version = response.session_handle, response.graph_version

    def extend(self, *nodes, version=None):
        current = self.version if version is None else version
        request = master_pb2.ExtendSessionRequest(
            session_handle=self.handle, graph_def=as_graph(nodes), current_graph_version=current
        )
        self.version = self.master.call(request).new_graph_version

    def request(self, fetches=(), feeds=None, targets=(), options=None, **fields):
        feeds = feeds.items() if isinstance(feeds, dict) else feeds or []
        return master_pb2.RunStepRequest(
            session_handle=self.handle,
            feed=[named(n, v) for n, v in feeds],
            fetch=fetches,
            target=targets,
            options=config_pb2.RunOptions(**options or {}),
            **fields,
        )

    def start(self, fetches=(), feeds=None, targets=(), timeout=TIMEOUT, **fields):
        """Begins a step; returns the future of its RunStepResponse."""
        return self.master.start(self.request(fetches, feeds, targets, **fields), timeout)

    def start_and_await_beginning(self, fetches):
        """Begins a step of a graph with graphs.beginning; returns its future when the step runs.

        Without that, a server may handle the next call first.
        """
        self.run(targets=["begun/init"])
        step = self.start(fetches, targets=["begin"])
        while self.run("begun/read:0") == 0:
            assert not step.done(), step
        return step

    def step(self, *args, **fields):
        """The RunStepResponse of a step."""
        return self.start(*args, **fields).result()

    def run(self, fetches=(), feeds=None, targets=(), **fields):
        """The values of what is fetched: of a name, or a list of them for a list of names."""
        names = [fetches] if isinstance(fetches, str) else list(fetches)
        response = self.step(names, feeds, targets, **fields)
        assert [t.name for t in response.tensor] == names, f"fetched {names}, got {response}"
        values = [value(t.tensor) for t in response.tensor]
        return values[0] if isinstance(fetches, str) else values

    def close(self):
        self.master.call(master_pb2.CloseSessionRequest(session_handle=self.handle))


def as_graph(nodes):
    if len(nodes) == 1 and isinstance(nodes[0], graph_pb2.GraphDef):
        return nodes[0]
    return graph(*nodes)


class InteropTest(unittest.TestCase):
    maxDiff = None

    @contextmanager
    def fails(self, code, *words):
        """The block ends with an RPC error of this code, whose message has all these words."""
        with self.assertRaises(grpc.RpcError) as raised:
            yield
        self.check_error(raised.exception, code, *words)

    def check_error(self, error, code, *words):
        self.assertEqual((error.code().name, error.details()), (code, error.details()))
        for word in words:
            self.assertIn(word, error.details())

    def check_status(self, response, code, *words):
        """The same for an error in the body of a response."""
        self.assertEqual(response.status_code, grpc.StatusCode[code].value[0], response.status_error_message)
        for word in words:
            self.assertIn(word, response.status_error_message)
