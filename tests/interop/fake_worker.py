# A task of TensorFlow, played by the test: a WorkerService that a Braid master or worker calls.
import queue
from concurrent.futures import ThreadPoolExecutor

from client import CHANNEL_OPTIONS, TIMEOUT
from protos import device_attributes_pb2, grpc, worker_pb2

INCARNATION = 0x1122334455667788


class FakeWorker(grpc.GenericRpcHandler):
    """Serves WorkerService at an address of a cluster.

    The test takes the calls by method, fake.next("RegisterGraph"), those of a step by its id, too. Methods in
    `answers` are answered at once, the others by call.answer or call.fail.
    """

    def __init__(self, address, task):
        self.device = f"{task}/device:CPU:0"
        self.calls = {}
        self.answers = {
            "GetStatus": self.get_status,
            "CreateWorkerSession": worker_pb2.CreateWorkerSessionResponse,
            "DeleteWorkerSession": worker_pb2.DeleteWorkerSessionResponse,
            "RegisterGraph": lambda: worker_pb2.RegisterGraphResponse(graph_handle="graph-1"),
            "DeregisterGraph": worker_pb2.DeregisterGraphResponse,
            "CleanupGraph": worker_pb2.CleanupGraphResponse,
            "CleanupAll": worker_pb2.CleanupAllResponse,
        }
        self.server = grpc.server(ThreadPoolExecutor(16), [self], options=CHANNEL_OPTIONS)
        self.server.add_insecure_port(address)
        self.server.start()

    def get_status(self):
        device = device_attributes_pb2.DeviceAttributes(
            name=self.device, device_type="CPU", incarnation=INCARNATION, memory_limit=1 << 28
        )
        return worker_pb2.GetStatusResponse(device_attributes=[device])

    def service(self, details):
        service, _, method = details.method[1:].partition("/")
        if service != "tensorflow.WorkerService":
            return None  # Unimplemented, as in TensorFlow
        request = getattr(worker_pb2, f"{method}Request")
        return grpc.unary_unary_rpc_method_handler(
            lambda r, context: self.serve(method, r, context),
            request.FromString,
            lambda m: m.SerializeToString(),
        )

    def serve(self, method, request, context):
        call = Call(request, context)
        step = getattr(request, "step_id", None)
        self.queue(method, step).put(call)
        if method == "RunGraph":
            self.queue(method, None).put(call)
        if method in self.answers:
            return self.answers[method]()
        return call.wait_for_answer()

    def queue(self, method, step):
        return self.calls.setdefault((method, step), queue.Queue())

    def next(self, method, step=None):
        """The next call of a method (of a step; a RunGraph of any); waits for it."""
        try:
            while (call := self.queue(method, step).get(timeout=TIMEOUT)) is None:
                pass  # left by next_of
            return call
        except queue.Empty:
            raise AssertionError(f"nobody calls {method}") from None

    def next_of(self, method, start, ms=300):
        """Starts a step of the client that has so many milliseconds, start(ms), and waits for a call of a
        method.

        Tries again with more time if the step ends before that, as it does on a busy machine. Returns the
        step, the call and the milliseconds."""
        while True:
            step, calls = start(ms), self.queue(method, None)
            step.add_done_callback(lambda _: calls.put(None))
            if call := calls.get(timeout=TIMEOUT):
                return step, call, ms
            ms *= 4

    def stop(self):
        self.server.stop(None).wait()


class Call:
    def __init__(self, request, context):
        self.request, self.context = request, context
        self.outcome = queue.Queue()
        self.ended = queue.Queue()
        if not context.add_callback(self.end):
            self.end()

    def end(self):
        self.ended.put(True)
        self.outcome.put(lambda: self.context.abort(grpc.StatusCode.CANCELLED, "gone"))

    def answer(self, response):
        self.outcome.put(lambda: response)

    def fail(self, code, words):
        self.outcome.put(lambda: self.context.abort(grpc.StatusCode[code], words))

    def wait_for_answer(self):
        return self.outcome.get()()

    def wait_for_end(self):
        """Until it has been answered, or the caller has cancelled it or is gone."""
        try:
            self.ended.get(timeout=TIMEOUT)
        except queue.Empty:
            raise AssertionError(f"{type(self.request).__name__} goes on") from None
