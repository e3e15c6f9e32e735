"""Times of nodes, and their sums."""

import os


class ProfileDatum:
    """One execution of a node: its NodeExecStats and the line of the program that built it."""

    def __init__(self, device_name, node_exec_stats, file_path, line_number, func_name, op_type):
        self.device_name, self.node_exec_stats, self.op_type = device_name, node_exec_stats, op_type
        self.file_path, self.line_number, self.func_name = file_path, line_number, func_name
        self.file_line_func = ""
        if file_path:
            self.file_line_func = "%s:%d(%s)" % (os.path.basename(file_path), line_number, func_name)
        self.start_time = node_exec_stats.all_start_micros
        self.op_time = node_exec_stats.op_end_rel_micros - node_exec_stats.op_start_rel_micros

    @property
    def exec_time(self):
        """Of the op, and of what is before and after it."""
        return self.node_exec_stats.all_end_rel_micros


class AggregateProfile:
    """Sums over executions."""

    def __init__(self, profile_datum):
        self.total_op_time = self.total_exec_time = 0
        self._counts = {}  # by device and node
        self.add(profile_datum)

    def add(self, profile_datum):
        self.total_op_time += profile_datum.op_time
        self.total_exec_time += profile_datum.exec_time
        key = (profile_datum.device_name, profile_datum.node_exec_stats.node_name)
        self._counts[key] = self._counts.get(key, 0) + 1

    @property
    def node_count(self):
        return len(self._counts)

    @property
    def node_exec_count(self):
        return sum(self._counts.values())
