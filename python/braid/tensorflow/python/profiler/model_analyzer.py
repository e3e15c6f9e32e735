"""Parameters, operations, time and memory of the nodes of a graph (tf.profiler).

Views: by scope (cmd "scope"), and by type of op ("op"). Those by lines of the program and by data flow,
timelines and pprof files raise NotImplementedError: tf.python.client.timeline makes timelines.
"""

import sys

from braid import protos
from braid.tensorflow.core.profiler import tfprof_log_pb2
from braid.tensorflow.core.profiler import tfprof_output_pb2
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.lib.io import file_io
from braid.tensorflow.python.profiler import option_builder
from braid.tensorflow.python.profiler import profile_file
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
    return _profile(graph, () if run_meta is None else (run_meta,), op_log, cmd, options)


def _profile(graph, runs, op_log, cmd, options):
    if graph is None:
        graph = ops.get_default_graph()
    if options is _DEFAULT_PROFILE_OPTIONS:
        options = option_builder.ProfileOptionBuilder.trainable_variables_parameter()
    if cmd not in _VIEWS:
        raise NotImplementedError(f"tf.profiler.profile: cmd={cmd!r} is not in Braid; 'scope' and 'op' are")
    return _VIEWS[cmd](profile_nodes.of_graph(graph, runs, op_log), options)


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
        self._ran = set()  # names of nodes

    def add_step(self, step, run_meta):
        """Adds the RunMetadata of a step. Those with the same number count as one step."""
        merged = self._steps.setdefault(step, protos.RunMetadata())
        merged.step_stats.dev_stats.extend(run_meta.step_stats.dev_stats)
        for device in run_meta.step_stats.dev_stats:
            self._ran.update(stats.node_name.split(":")[0] for stats in device.node_stats)

    @property
    def _coverage(self):
        """The share of the graph's nodes that ran in a step."""
        operations = self._graph.get_operations()
        return sum(operation.name in self._ran for operation in operations) / max(len(operations), 1)

    def _view(self, cmd, options):
        """That of the step of the options, empty if it was not added; -1: means of all steps."""
        step = options.get("step", -1)
        if step >= 0 and step not in self._steps:
            known = " ".join(map(str, sorted(self._steps)))
            print(f"Options -step={step} not found.\nAvailable steps: {known}", file=sys.stderr)
            return MultiGraphNodeProto() if cmd == "op" else GraphNodeProto()
        runs = [self._steps[step]] if step >= 0 else self._steps.values()
        return _profile(self._graph, runs, self._op_log, cmd, options)

    def serialize_to_string(self):
        """A ProfileProto of the graph and all steps, which the tools of tfprof read. It has no lines of the program."""
        return profile_file.of_steps(self._graph, self._op_log, self._steps).SerializeToString()

    def _write_profile(self, filename):
        file_io.write_string_to_file(filename, self.serialize_to_string())

    def profile_name_scope(self, options):
        return self._view("scope", options)

    def profile_operations(self, options):
        return self._view("op", options)

    def profile_graph(self, options):
        return self._view("graph", options)

    def profile_python(self, options):
        return self._view("code", options)

    def advise(self, options):
        return advise(self._graph, None, options)
