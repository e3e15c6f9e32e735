"""Expressions of Python with values of a dump: np.argmax(`Softmax:0`)."""

import re

import numpy as np

from braid.tensorflow.python.debug.lib import debug_data

_DUMP_TENSOR_PATTERN = re.compile(r"`(.*?)`")
_DEVICE_NAME_PREFIX_PATTERN = re.compile(r"/job:(\w)+/replica:(\d)+/task:(\d)+/(\w|:)+?:(\d)+:")
_EXEC_INDEX_SUFFIX_PATTERN = re.compile(r"\[(\d*)\]$")
_DEFAULT_DEBUG_OP = "DebugIdentity"


def _parse_debug_tensor_name(debug_tensor_name):
    """(device or None, node, output, debug op, which dump) of "[DEVICE:]NODE:OUTPUT[:OP][[DUMP]]"."""
    rest, device_name, exec_index = debug_tensor_name, None, 0
    device = _DEVICE_NAME_PREFIX_PATTERN.match(rest)
    if device:
        device_name, rest = rest[: device.end() - 1], rest[device.end() :]
    index = _EXEC_INDEX_SUFFIX_PATTERN.search(rest)
    if index:
        exec_index, rest = int(index.group(1)), rest[: index.start()]
    items = rest.split(":")
    if len(items) not in (2, 3):
        raise ValueError(
            "The debug tensor name in the to-be-evaluated expression is malformed: '%s'" % debug_tensor_name
        )
    debug_op = items[2] if len(items) == 3 else _DEFAULT_DEBUG_OP
    return device_name, items[0], int(items[1]), debug_op, exec_index


class ExpressionEvaluator:
    """Evaluates expressions; tensors of the dump are in backticks, numpy is np."""

    def __init__(self, dump):
        self._dump = dump
        self._cached_tensor_values = {}

    def _value_of(self, tensor_name):
        if tensor_name not in self._cached_tensor_values:
            device_name, node_name, slot, debug_op, index = _parse_debug_tensor_name(tensor_name)
            try:
                values = self._dump.get_tensors(node_name, slot, debug_op, device_name=device_name)
            except debug_data.WatchKeyDoesNotExistInDebugDumpDirError:
                raise ValueError(
                    "Eval failed due to the value of %s:%d:DebugIdentity being unavailable"
                    % (node_name, slot)
                ) from None
            self._cached_tensor_values[tensor_name] = values[index]
        return self._cached_tensor_values[tensor_name]

    def evaluate(self, expression):
        names, values = {"np": np}, []

        def take(match):
            values.append(self._value_of(match.group(1).strip()))
            names["_tensor_%d" % (len(values) - 1)] = values[-1]
            return "_tensor_%d" % (len(values) - 1)

        return eval(_DUMP_TENSOR_PATTERN.sub(take, expression), names)
