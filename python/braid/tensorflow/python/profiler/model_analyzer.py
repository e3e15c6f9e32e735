"""Parameters, operations, time and memory of the nodes of a graph (tf.profiler).

Views: by scope (cmd "scope"), and by type of op ("op"). Those by lines of the program and by data flow,
timelines and pprof files raise NotImplementedError: tf.python.client.timeline makes timelines.
"""

from braid import protos
from braid.tensorflow.core.profiler import tfprof_log_pb2
from braid.tensorflow.core.profiler import tfprof_output_pb2
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.lib.io import file_io
from braid.tensorflow.python.profiler import option_builder
from braid.tensorflow.python.profiler import profile_nodes
from braid.tensorflow.python.profiler import report
from braid.tensorflow.python.util.tf_export import tf_export

_DEFAULT_PROFILE_OPTIONS = 0
_DEFAULT_ADVISE_OPTIONS = 0
ALL_ADVICE = {
    "ExpensiveOperationChecker": {},
    "AcceleratorUtilizationChecker": {},
    "JobChecker": {},
    "OperationChecker": {},
}
tf_export(v1=["profiler.GraphNodeProto"]).export_constant(__name__, "GraphNodeProto")
GraphNodeProto = tfprof_output_pb2.GraphNodeProto
tf_export(v1=["profiler.MultiGraphNodeProto"]).export_constant(__name__, "MultiGraphNodeProto")
MultiGraphNodeProto = tfprof_output_pb2.MultiGraphNodeProto
tf_export(v1=["profiler.AdviceProto"]).export_constant(__name__, "AdviceProto")
AdviceProto = tfprof_output_pb2.AdviceProto
tf_export(v1=["profiler.OpLogProto"]).export_constant(__name__, "OpLogProto")
OpLogProto = tfprof_log_pb2.OpLogProto


def _fill(message, node):
    """The numbers of a node in a message."""
    for number in profile_nodes.NUMBERS:
        for field, values in ((number, node.own), ("total_" + number, node.total)):
            if field in message.DESCRIPTOR.fields_by_name:
                setattr(message, field, values[number])


def _graph_node(node, message):
    message.name = node.name
    _fill(message, node)
    if node.name == profile_nodes.ROOT:
        for number in profile_nodes.NUMBERS:
            if number in message.DESCRIPTOR.fields_by_name:
                message.ClearField(number)
    message.devices.extend(sorted(node.devices))
    if node.shape is not None:
        message.shapes.append(protos.TensorShapeProto(dim=[{"size": n} for n in node.shape]))
    for child in node.children:
        _graph_node(child, message.children.add())
    return message


def _write(text, options):
    kind, _, rest = options["output"].partition(":")
    if kind == "stdout":
        print(report.options_text(options) + text)
    elif kind == "file":
        file_io.write_string_to_file(dict(part.split("=", 1) for part in rest.split(","))["outfile"], text)
    elif kind != "none":
        raise NotImplementedError(
            f"tf.profiler: output {kind} is not in Braid: tensorflow.python.client.timeline makes timelines"
        )


def _by_scope(nodes, options):
    (root,) = profile_nodes.select(profile_nodes.scopes(nodes, options), options)
    _write(report.frame(report.tree_text(root, options)), options)
    return _graph_node(root, GraphNodeProto())


def _by_type(nodes, options):
    shown, everything = profile_nodes.of_types(nodes, options)
    _write(report.frame(report.types_text(shown, everything, options)), options)
    message = root = MultiGraphNodeProto(name=profile_nodes.ROOT)
    _fill(root, everything)
    for node in shown:  # each is the child of the one before it
        message = message.children.add(name=node.name)
        _fill(message, node)
    return root


_VIEWS = {"scope": _by_scope, "op": _by_type}


@tf_export(v1=["profiler.profile"])
def profile(graph=None, run_meta=None, op_log=None, cmd="scope", options=_DEFAULT_PROFILE_OPTIONS):
    """Shows a profile of a graph, by default the default one, and returns it.

    run_meta: the RunMetadata of a step, for time and memory. op_log: an OpLogProto with more types and
    operations. cmd: "scope", which returns a GraphNodeProto, or "op", which returns a MultiGraphNodeProto.
    options: what a ProfileOptionBuilder makes.
    """
    if graph is None:
        graph = ops.get_default_graph()
    if options is _DEFAULT_PROFILE_OPTIONS:
        options = option_builder.ProfileOptionBuilder.trainable_variables_parameter()
    if cmd not in _VIEWS:
        raise NotImplementedError(f"tf.profiler.profile: cmd={cmd!r} is not in Braid; 'scope' and 'op' are")
    return _VIEWS[cmd](profile_nodes.of_graph(graph, run_meta, op_log), options)


@tf_export(v1=["profiler.advise"])
def advise(graph=None, run_meta=None, options=_DEFAULT_ADVISE_OPTIONS):
    """NotImplementedError."""
    raise NotImplementedError(
        "tf.profiler.advise is not in Braid; tf.profiler.profile shows where the time goes"
    )


@tf_export(v1=["profiler.Profiler"])
class Profiler:
    """Profiles of a graph of which several steps are recorded."""

    def __init__(self, graph=None, op_log=None):
        self._graph = ops.get_default_graph() if graph is None else graph
        self._op_log = op_log
        self._steps = {}

    def add_step(self, step, run_meta):
        """Adds the RunMetadata of a step."""
        self._steps[step] = run_meta

    def _run_meta(self, options):
        """That of the step of the options; -1: of all, added up."""
        if options.get("step", -1) >= 0:
            return self._steps[options["step"]]
        merged = protos.RunMetadata()
        for run_meta in self._steps.values():
            merged.step_stats.dev_stats.extend(run_meta.step_stats.dev_stats)
        return merged

    def profile_name_scope(self, options):
        return profile(self._graph, self._run_meta(options), self._op_log, "scope", options)

    def profile_operations(self, options):
        return profile(self._graph, self._run_meta(options), self._op_log, "op", options)

    def profile_graph(self, options):
        return profile(self._graph, self._run_meta(options), self._op_log, "graph", options)

    def profile_python(self, options):
        return profile(self._graph, self._run_meta(options), self._op_log, "code", options)

    def advise(self, options):
        return advise(self._graph, None, options)
