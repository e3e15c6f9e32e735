# What tools for any gRPC server ask: is it healthy (grpc.health.v1), and what does it serve
# (grpc.reflection.v1alpha, as grpcurl asks).
# labels: concurrent
# timeout: 120
import queue
import subprocess
import tempfile
from pathlib import Path

from client import CHANNEL_OPTIONS, TIMEOUT, InteropTest
from cluster import Cluster, main
from protos import SOURCES, grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

HEALTH, REFLECTION = "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"
SERVICES = [
    "braid.MonitoringService",
    HEALTH,
    REFLECTION,
    "tensorflow.MasterService",
    "tensorflow.WorkerService",
]


def setUpModule():
    global cluster, messages
    cluster = Cluster(ps=1, worker=1)
    with tempfile.TemporaryDirectory() as folder:  # not as packages: they would lie over grpc's own
        out = Path(folder) / "set"
        subprocess.run(
            [
                "protoc",
                f"--descriptor_set_out={out}",
                "-I",
                ".",
                "grpc/health/v1/health.proto",
                "grpc/reflection/v1alpha/reflection.proto",
            ],
            cwd=SOURCES,
            check=True,
        )
        messages = pool_of(descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file)


def tearDownModule():
    cluster.stop()


def pool_of(files):
    pool = descriptor_pool.DescriptorPool()
    for f in files:
        pool.Add(f)
    return pool


def message(pool, name):
    return message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName(name))


class ToolTest(InteropTest):
    def setUp(self):
        self.channel = grpc.insecure_channel(cluster.address("worker"), CHANNEL_OPTIONS)

    def tearDown(self):
        self.channel.close()


class HealthTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.request = message(messages, "grpc.health.v1.HealthCheckRequest")
        self.response = message(messages, "grpc.health.v1.HealthCheckResponse")

    def check(self, service):
        call = self.channel.unary_unary(
            f"/{HEALTH}/Check", self.request.SerializeToString, self.response.FromString
        )
        return call(self.request(service=service), timeout=TIMEOUT).status

    def watch(self, service):
        call = self.channel.unary_stream(
            f"/{HEALTH}/Watch", self.request.SerializeToString, self.response.FromString
        )
        return call(self.request(service=service), timeout=TIMEOUT)

    def test_all_services_are_served(self):
        for service in [""] + SERVICES:
            self.assertEqual(self.check(service), self.response.SERVING)

    def test_a_service_that_there_is_not(self):
        with self.fails("NOT_FOUND", "no.such.Service"):
            self.check("no.such.Service")
        watch = self.watch("no.such.Service")
        self.assertEqual(next(watch).status, self.response.SERVICE_UNKNOWN)
        watch.cancel()

    def test_a_watch_stays_open_until_the_server_stops(self):
        with Cluster(ps=0, worker=1) as own:
            channel = grpc.insecure_channel(own.address("worker"), CHANNEL_OPTIONS)
            call = channel.unary_stream(
                f"/{HEALTH}/Watch", self.request.SerializeToString, self.response.FromString
            )
            watches = [
                call(self.request(service=s), timeout=TIMEOUT) for s in ("", "tensorflow.MasterService")
            ]
            for w in watches:
                self.assertEqual(next(w).status, self.response.SERVING)
            watches.pop().cancel()
            own.server("worker").stop()
            self.assertEqual([r.status for r in until_error(watches[0])], [self.response.NOT_SERVING])
            self.check_error(watches[0], "ABORTED", "is stopping")
            channel.close()

    def test_watches_that_are_dropped_leave_nothing(self):
        for _ in range(200):
            watch = self.watch("")
            next(watch)
            watch.cancel()
        self.assertEqual(self.check(""), self.response.SERVING)

    def test_what_is_no_request(self):
        call = self.channel.unary_unary(f"/{HEALTH}/Check")
        with self.fails("INVALID_ARGUMENT"):
            call(b"\x0a\xff", timeout=TIMEOUT)


def until_error(responses):
    try:
        yield from responses
    except grpc.RpcError:
        pass


class ReflectionTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.request = message(messages, "grpc.reflection.v1alpha.ServerReflectionRequest")
        self.response = message(messages, "grpc.reflection.v1alpha.ServerReflectionResponse")
        self.questions = queue.Queue()
        call = self.channel.stream_stream(
            f"/{REFLECTION}/ServerReflectionInfo", self.request.SerializeToString, self.response.FromString
        )
        self.answers = call(iter(self.questions.get, None), timeout=TIMEOUT)

    def tearDown(self):
        self.questions.put(None)
        super().tearDown()

    def ask(self, **question):
        self.questions.put(self.request(host="h", **question))
        answer = next(self.answers)
        self.assertEqual(answer.original_request, self.request(host="h", **question))
        return answer

    def file(self, **question):
        (content,) = self.ask(**question).file_descriptor_response.file_descriptor_proto
        return descriptor_pb2.FileDescriptorProto.FromString(content)

    def test_the_services(self):
        listed = self.ask(list_services="*").list_services_response.service
        self.assertEqual([s.name for s in listed], SERVICES)

    def test_a_client_that_knows_nothing_calls_a_method(self):
        """As grpcurl does: services, the file of one, what it imports, the types, the call."""
        pool = descriptor_pool.DescriptorPool()
        known = set()

        def add(f):
            if f.name in known:
                return
            known.add(f.name)
            for name in f.dependency:
                add(self.file(file_by_filename=name))
            pool.Add(f)

        for service in SERVICES:
            add(self.file(file_containing_symbol=service))
            methods = pool.FindServiceByName(service).methods
            self.assertTrue(methods)
            for m in methods:
                self.assertEqual(
                    self.file(file_containing_symbol=m.full_name).name, m.containing_service.file.name
                )
        self.assertIn("google/protobuf/any.proto", known)
        method = pool.FindServiceByName("tensorflow.MasterService").FindMethodByName("ListDevices")
        factory = message_factory.MessageFactory(pool)
        request, response = (factory.GetPrototype(t) for t in (method.input_type, method.output_type))
        call = self.channel.unary_unary(
            "/tensorflow.MasterService/ListDevices", request.SerializeToString, response.FromString
        )
        self.assertEqual(len(call(request(), timeout=TIMEOUT).remote_device), 1)

    def test_symbols_of_every_kind(self):
        for symbol, file in (
            ("tensorflow.RunStepRequest", "tensorflow/core/protobuf/master.proto"),
            ("tensorflow.TensorShapeProto.Dim", "tensorflow/core/framework/tensor_shape.proto"),
            ("tensorflow.DataType", "tensorflow/core/framework/types.proto"),
            ("tensorflow.RunOptions.TraceLevel", "tensorflow/core/protobuf/config.proto"),
            ("tensorflow.error.Code", "tensorflow/core/lib/core/error_codes.proto"),
        ):
            self.assertEqual(self.file(file_containing_symbol=symbol).name, file)

    def test_what_there_is_not(self):
        for question in (
            {"file_by_filename": "no.proto"},
            {"file_by_filename": ""},
            {"file_containing_symbol": "tensorflow.Nothing"},
            {"file_containing_symbol": "tensorflow"},
            {"file_containing_symbol": "tensorflow.RunStepRequest.Nothing"},
            {"file_containing_symbol": ""},
            {"all_extension_numbers_of_type": "tensorflow.GraphDef"},
            {"file_containing_extension": {"containing_type": "tensorflow.GraphDef"}},
            {},
        ):
            self.assertEqual(
                self.ask(**question).error_response.error_code, grpc.StatusCode.NOT_FOUND.value[0]
            )

    def test_the_stream_ends_when_there_are_no_more_questions(self):
        self.ask(list_services="")
        self.questions.put(None)
        self.assertEqual(list(self.answers), [])
        self.assertEqual(self.answers.code(), grpc.StatusCode.OK)

    def test_what_is_no_question_ends_it(self):
        call = self.channel.stream_stream(f"/{REFLECTION}/ServerReflectionInfo")
        answers = call(iter([b"\x0a\xff"]), timeout=TIMEOUT)
        self.assertEqual(list(until_error(answers)), [])
        self.check_error(answers, "INVALID_ARGUMENT")

    def test_an_open_stream_does_not_hold_up_the_end_of_a_server(self):
        with Cluster(ps=0, worker=1) as own:
            channel = grpc.insecure_channel(own.address("worker"), CHANNEL_OPTIONS)
            call = channel.stream_stream(
                f"/{REFLECTION}/ServerReflectionInfo",
                self.request.SerializeToString,
                self.response.FromString,
            )
            questions = queue.Queue()
            questions.put(self.request(list_services=""))
            answers = call(iter(questions.get, None), timeout=TIMEOUT)
            next(answers)
            own.server("worker").stop()
            questions.put(None)
            channel.close()


if __name__ == "__main__":
    main()
