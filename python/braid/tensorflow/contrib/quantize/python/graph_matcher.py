"""Patterns of nodes: a tree of the types of a node and of those that give its inputs."""

import itertools


class MatchResult:
    """Which node, and which of its outputs, each pattern has matched."""

    def __init__(self):
        self._found = {}  # pattern: (op, tensor)
        self._named = {}

    def add(self, pattern, op, tensor):
        self._found[pattern] = op, tensor
        if pattern.name is None:
            return
        if pattern.name in self._named:
            raise ValueError(f"Name {pattern.name} is already bound to another pattern")
        self._named[pattern.name] = pattern

    def merge_from(self, other):
        self._found.update(other._found)
        self._named.update(other._named)

    def _of(self, pattern_or_name):
        pattern = pattern_or_name
        if isinstance(pattern, str):
            pattern = self._named.get(pattern)
        elif not isinstance(pattern, Pattern):
            raise ValueError(f"pattern_or_name has type {type(pattern)}. Expect Pattern or str.")
        return self._found.get(pattern, (None, None))

    def get_op(self, pattern_or_name):
        """The node that the pattern, or the pattern of a name, has matched; None if it has none."""
        return self._of(pattern_or_name)[0]

    def get_tensor(self, pattern_or_name):
        """The output of that node that is used by the one above it."""
        return self._of(pattern_or_name)[1]


class Pattern:
    """What matches nodes."""

    name = None

    def match(self, op, tensor):
        """A MatchResult, or None."""
        raise NotImplementedError('Method "match" not implemented.')


class OpTypePattern(Pattern):
    """A node of a type: "Conv2D", "Relu|Relu6", "*" for any.

    inputs: patterns, or types, of the nodes of all inputs; None: any. ordered_inputs: False for inputs in any
    order.
    """

    def __init__(self, op_type, name=None, inputs=None, ordered_inputs=True):
        inputs = inputs or []
        if len(inputs) > 8:
            raise ValueError("Only < 8 inputs are allowed when ordered_inputs is False.")
        self.name = name
        self._types = None if op_type == "*" else op_type.split("|")
        self._inputs = [p if isinstance(p, Pattern) else OpTypePattern(p) for p in inputs]
        self._ordered_inputs = ordered_inputs

    def match(self, op, tensor):
        if self._types is not None and op.type not in self._types:
            return None
        result = MatchResult()
        result.add(self, op, tensor)
        if not self._inputs:
            return result
        inputs = list(op.inputs)
        if len(inputs) != len(self._inputs):
            return None
        for order in [self._inputs] if self._ordered_inputs else itertools.permutations(self._inputs):
            parts = []
            for pattern, given in zip(order, inputs):
                part = pattern.match(given.op, given)
                if part is None:
                    break
                parts.append(part)
            if len(parts) == len(inputs):
                for part in parts:
                    result.merge_from(part)
                return result
        return None


class OneofPattern(Pattern):
    """What the first of some patterns matches that matches at all."""

    def __init__(self, sub_patterns):
        self._sub_patterns = sub_patterns

    def match(self, op, tensor):
        results = (pattern.match(op, tensor) for pattern in self._sub_patterns)
        return next((result for result in results if result is not None), None)


class GraphMatcher:
    """Finds the nodes that a pattern matches."""

    def __init__(self, pattern):
        self._pattern = pattern

    def match_op(self, op):
        return self._pattern.match(op, None)

    def match_ops(self, ops):
        for op in ops:
            result = self.match_op(op)
            if result is not None:
                yield result

    def match_graph(self, graph):
        """The MatchResults of a graph, in the order of its nodes."""
        return self.match_ops(graph.get_operations())
