"""A profile of the steps that sessions of this process run between start and stop, for TensorBoard."""

import datetime
import os
import threading
import time

from google.protobuf import descriptor_pb2

from braid import protos
from braid.tensorflow.python import pywrap_tensorflow
from braid.tensorflow.python.client import session
from braid.tensorflow.python.lib.io import file_io
from braid.tensorflow.python.util import compat

_EVENT_FILE_SUFFIX = ".profile-empty"


class ProfilerAlreadyRunningError(Exception):
    """Another profile has begun and not ended."""


class ProfilerNotRunningError(Exception):
    """No profile has begun."""


def _trace_class():
    """The message tensorflow.tpu.Trace: devices with threads, and what they ran when, in picoseconds."""
    kinds = descriptor_pb2.FieldDescriptorProto
    numbers = {"uint32": kinds.TYPE_UINT32, "uint64": kinds.TYPE_UINT64, "string": kinds.TYPE_STRING}
    file = descriptor_pb2.FileDescriptorProto(
        name="tensorflow/core/profiler/trace_events.proto", package="tensorflow.tpu", syntax="proto3"
    )

    def add(messages, name, fields, entry=False):
        message = messages.add(name=name)
        message.options.map_entry = entry
        for field, number, kind, repeated in fields:
            added = message.field.add(name=field, number=number)
            added.label = kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL
            added.type = numbers.get(kind, kinds.TYPE_MESSAGE)
            if added.type == kinds.TYPE_MESSAGE:
                added.type_name = f".tensorflow.tpu.{kind}"
        return message

    trace = add(
        file.message_type,
        "Trace",
        [("devices", 1, "Trace.DevicesEntry", True), ("trace_events", 4, "TraceEvent", True)],
    )
    add(trace.nested_type, "DevicesEntry", [("key", 1, "uint32", False), ("value", 2, "Device", False)], True)
    device = add(
        file.message_type,
        "Device",
        [
            ("name", 1, "string", False),
            ("device_id", 2, "uint32", False),
            ("resources", 3, "Device.ResourcesEntry", True),
        ],
    )
    entry = [("key", 1, "uint32", False), ("value", 2, "Resource", False)]
    add(device.nested_type, "ResourcesEntry", entry, True)
    add(file.message_type, "Resource", [("name", 1, "string", False), ("resource_id", 2, "uint32", False)])
    event = add(
        file.message_type,
        "TraceEvent",
        [
            ("device_id", 1, "uint32", False),
            ("resource_id", 2, "uint32", False),
            ("name", 3, "string", False),
            ("timestamp_ps", 9, "uint64", False),
            ("duration_ps", 10, "uint64", False),
            ("args", 11, "TraceEvent.ArgsEntry", True),
        ],
    )
    entry = [("key", 1, "string", False), ("value", 2, "string", False)]
    add(event.nested_type, "ArgsEntry", entry, True)
    protos.pool.AddSerializedFile(file.SerializeToString())
    return protos.message("tensorflow.tpu.Trace")


_lock = threading.Lock()
_Trace = None
_began = 0  # microseconds since 1970


def start():
    """Begins a profile. ProfilerAlreadyRunningError: there is one."""
    global _began
    with _lock:
        if session.profile is not None:
            raise ProfilerAlreadyRunningError("Another profiler is running.")
        _began = int(time.time() * 1e6)
        session.profile = []


def stop():
    """Ends the profile. Returns it as the bytes of a tensorflow.tpu.Trace. ProfilerNotRunningError: there is
    none.
    """
    global _Trace
    with _lock:
        if session.profile is None:
            raise ProfilerNotRunningError("Cannot stop profiling. No profiler is running.")
        steps, session.profile = session.profile, None
        if _Trace is None:
            _Trace = _trace_class()
    trace, devices = _Trace(), {}
    for step in steps:
        for stats in protos.RunMetadata.FromString(step).step_stats.dev_stats:
            number = devices.setdefault(stats.device, len(devices))
            device = trace.devices[number]
            device.name, device.device_id = stats.device, number
            for node in stats.node_stats:
                thread = device.resources[node.thread_id]
                thread.name, thread.resource_id = f"thread {node.thread_id}", node.thread_id
                op = node.timeline_label.partition(" = ")[2].partition("(")[0]
                event = trace.trace_events.add(
                    device_id=number,
                    resource_id=node.thread_id,
                    name=op or node.node_name,
                    timestamp_ps=max(node.all_start_micros - _began, 0) * 10**6,
                    duration_ps=max(node.op_end_rel_micros - node.op_start_rel_micros, 1) * 10**6,
                )
                event.args["long name"] = f"{node.node_name}:{op}" if op else node.node_name
                event.args["label"] = node.timeline_label
    return trace.SerializeToString()


def maybe_create_event_file(logdir):
    """Makes an empty event file, by which TensorBoard knows that there are profiles in the directory."""
    if not any(name.endswith(_EVENT_FILE_SUFFIX) for name in file_io.list_directory(logdir)):
        writer = pywrap_tensorflow.EventsWriter(compat.as_bytes(os.path.join(logdir, "events")))
        writer.InitWithSuffix(compat.as_bytes(_EVENT_FILE_SUFFIX))
        writer.Close()


def save(logdir, result):
    """Writes a profile that stop has returned to the directory of events."""
    run = datetime.datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    directory = os.path.join(logdir, "plugins", "profile", run)
    file_io.recursive_create_dir(directory)
    maybe_create_event_file(logdir)
    file_io.write_string_to_file(os.path.join(directory, "local.trace"), result)


class Profiler:
    """A context whose steps are profiled; the profile is written to the directory at its end."""

    def __init__(self, logdir):
        self._logdir = logdir

    def __enter__(self):
        start()

    def __exit__(self, *_):
        save(self._logdir, stop())
