"""Traced steps as JSON for chrome://tracing.

The format is the Trace Event Format: an event is a dict with its phase "ph" ("M" names a process, "X" is a
region, "s" and "t" are the ends of an arrow, "C" is a counter, "N", "O", "D" are objects), its process
"pid", its lane "tid" and its time "ts" in microseconds.
"""

import collections
import json
import re

AllocationMaximum = collections.namedtuple("AllocationMaximum", ("timestamp", "num_bytes", "tensors"))
StepStatsAnalysis = collections.namedtuple("StepStatsAnalysis", ("chrome_trace", "allocator_maximums"))


class _ChromeTraceFormatter:
    """Collects events."""

    def __init__(self, show_memory=False):
        self._show_memory = show_memory
        self._metadata = []
        self._events = []

    def _create_event(self, ph, category, name, pid, tid, timestamp):
        return {"ph": ph, "cat": category, "name": name, "pid": pid, "tid": tid, "ts": timestamp}

    def emit_pid(self, name, pid):
        """Names a process."""
        self._metadata.append({"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}})

    def emit_tid(self, name, pid, tid):
        """Names a lane of a process."""
        self._metadata.append(
            {"name": "thread_name", "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}}
        )

    def emit_region(self, timestamp, duration, pid, tid, category, name, args):
        event = self._create_event("X", category, name, pid, tid, timestamp)
        event.update(dur=duration, args=args)
        self._events.append(event)

    def emit_flow_start(self, name, timestamp, pid, tid, flow_id):
        event = self._create_event("s", "DataFlow", name, pid, tid, timestamp)
        event["id"] = flow_id
        self._events.append(event)

    def emit_flow_end(self, name, timestamp, pid, tid, flow_id):
        event = self._create_event("t", "DataFlow", name, pid, tid, timestamp)
        event["id"] = flow_id
        self._events.append(event)

    def emit_counter(self, category, name, pid, timestamp, counter, value):
        self.emit_counters(category, name, pid, timestamp, {counter: value})

    def emit_counters(self, category, name, pid, timestamp, counters):
        event = self._create_event("C", category, name, pid, 0, timestamp)
        event["args"] = dict(counters)
        self._events.append(event)

    def format_to_string(self, pretty=False):
        trace = {"traceEvents": self._metadata + self._events}
        return (
            json.dumps(trace, indent=4, separators=(",", ": "))
            if pretty
            else json.dumps(trace, separators=(",", ":"))
        )


class Timeline:
    """The trace of one step, from the step_stats of its RunMetadata."""

    def __init__(self, step_stats, graph=None):
        self._step_stats = step_stats
        self._graph = graph
        self._chrome_trace = None
        self._device_pids = {}
        self._allocators = {}

    def _parse_op_label(self, label):
        """(name, op, inputs) of "name = Op(input, input)"; of another label the label itself twice, and
        nothing.
        """
        match = re.match(r"(.*) = (.*)\((.*)\)", label)
        if match is None:
            return "unknown", "unknown", []
        name, op, inputs = match.groups()
        return name, op, [] if not inputs else inputs.split(", ")

    def _lanes(self, nodes):
        """Pairs (lane, node), such that the nodes of a lane follow each other."""
        ends, placed = [], []
        for node in sorted(nodes, key=lambda n: n.all_start_micros):
            start = node.all_start_micros
            lane = next((i for i, end in enumerate(ends) if end <= start), len(ends))
            end = start + max(node.all_end_rel_micros, 1)
            if lane == len(ends):
                ends.append(end)
            else:
                ends[lane] = end
            placed.append((lane, node))
        return placed

    def _name_op_inputs(self, node):
        """What a node of the trace did: its name, its op, and the names of its inputs."""
        name, op, inputs = self._parse_op_label(node.timeline_label)
        if op != "unknown":
            return name, op, inputs
        if self._graph is not None:
            try:
                found = self._graph.get_operation_by_name(node.node_name)
                return node.node_name, found.type, [i.op.name for i in found.inputs]
            except KeyError:
                pass
        return node.node_name, node.timeline_label or node.node_name, []

    def _emit_device(self, trace, device, show_dataflow, starts, flows):
        pid = self._device_pids[device.device]
        for lane, node in self._lanes(device.node_stats):
            name, op, inputs = self._name_op_inputs(node)
            start = node.all_start_micros
            duration = max(node.all_end_rel_micros, 1)
            args = {"name": name, "op": op}
            args.update((f"input{i}", text) for i, text in enumerate(inputs))
            trace.emit_region(start, duration, pid, lane, "Op", op, args)
            if not show_dataflow:
                continue
            starts.setdefault(node.node_name, (start + duration, pid, lane))
            flows.extend((text.lstrip("^").partition(":")[0], start, pid, lane) for text in inputs)

    def _emit_memory(self, trace, pid):
        """Counters of the bytes of each allocator over time. Returns the maximum of each."""
        maximums = {}
        changes = collections.defaultdict(list)
        for device in self._step_stats.dev_stats:
            for node in device.node_stats:
                for memory in node.memory:
                    changes[memory.allocator_name].append(
                        (node.all_start_micros, memory.total_bytes, node.node_name)
                    )
                    end = node.all_start_micros + node.all_end_rel_micros
                    changes[memory.allocator_name].append((end, -memory.total_bytes, node.node_name))
        for allocator, events in changes.items():
            total, best = 0, (0, 0)
            for time, delta, _ in sorted(events):
                total += delta
                trace.emit_counter("Memory", allocator, pid, time, allocator, total)
                best = max(best, (total, time))
            maximums[allocator] = AllocationMaximum(timestamp=best[1], num_bytes=best[0], tensors=set())
        return maximums

    def analyze_step_stats(self, show_dataflow=True, show_memory=True, op_time="schedule"):
        """The trace, and the most memory of each allocator."""
        trace = _ChromeTraceFormatter(show_memory)
        for pid, device in enumerate(self._step_stats.dev_stats):
            self._device_pids[device.device] = pid
            trace.emit_pid(f"{device.device} Compute", pid)
        starts, flows = {}, []
        for device in self._step_stats.dev_stats:
            self._emit_device(trace, device, show_dataflow, starts, flows)
        for number, (source, time, pid, lane) in enumerate(flow for flow in flows if flow[0] in starts):
            end, source_pid, source_lane = starts[source]
            trace.emit_flow_start(source, end, source_pid, source_lane, number)
            trace.emit_flow_end(source, time, pid, lane, number)
        maximums = {}
        if show_memory:
            pid = len(self._step_stats.dev_stats)
            trace.emit_pid("Allocators", pid)
            maximums = self._emit_memory(trace, pid)
        self._chrome_trace = trace
        return StepStatsAnalysis(chrome_trace=trace, allocator_maximums=maximums)

    def generate_chrome_trace_format(self, show_dataflow=True, show_memory=False, op_time="schedule"):
        """The trace as text. show_dataflow: with arrows from nodes to their consumers. show_memory: with
        counters.
        """
        analysis = self.analyze_step_stats(show_dataflow, show_memory, op_time)
        return analysis.chrome_trace.format_to_string(pretty=True)
