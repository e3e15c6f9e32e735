"""A summary writer that keeps what it is given, for tests."""

from braid.tensorflow.python.framework import test_util
from braid.tensorflow.python.summary.writer import writer
from braid.tensorflow.python.summary.writer import writer_cache
from braid import protos


class FakeSummaryWriter:
    """Keeps summaries by step; `install` has FileWriterCache make it in place of FileWriter."""

    _replaced_summary_writer = None

    @classmethod
    def install(cls):
        if cls._replaced_summary_writer:
            raise ValueError("FakeSummaryWriter already installed.")
        cls._replaced_summary_writer = writer.FileWriter
        writer.FileWriter = FakeSummaryWriter
        writer_cache.FileWriter = FakeSummaryWriter

    @classmethod
    def uninstall(cls):
        if not cls._replaced_summary_writer:
            raise ValueError("FakeSummaryWriter not installed.")
        writer.FileWriter = cls._replaced_summary_writer
        writer_cache.FileWriter = cls._replaced_summary_writer
        cls._replaced_summary_writer = None

    def __init__(self, logdir, graph=None):
        self._logdir = logdir
        self._graph = graph
        self._summaries = {}
        self._added_graphs = []
        self._added_meta_graphs = []
        self._added_session_logs = []
        self._added_run_metadata = {}

    @property
    def summaries(self):
        """The summaries of each step."""
        return self._summaries

    def assert_summaries(
        self,
        test_case,
        expected_logdir=None,
        expected_graph=None,
        expected_summaries=None,
        expected_added_graphs=None,
        expected_added_meta_graphs=None,
        expected_session_logs=None,
    ):
        """Checks what was given, as far as something is expected. expected_summaries: {step: {tag: value}}."""
        if expected_logdir is not None:
            test_case.assertEqual(expected_logdir, self._logdir)
        if expected_graph is not None:
            test_case.assertIs(expected_graph, self._graph)
        for step, expected in (expected_summaries or {}).items():
            test_case.assertIn(step, self._summaries, f"Missing step {step} from summaries")
            found = {}
            for summary in self._summaries[step]:
                for value in summary.value:
                    if value.tag in expected:
                        found[value.tag] = value.simple_value
            test_case.assertEqual(expected, found)
        if expected_added_graphs is not None:
            test_case.assertEqual(expected_added_graphs, self._added_graphs)
        if expected_added_meta_graphs is not None:
            test_case.assertEqual(len(expected_added_meta_graphs), len(self._added_meta_graphs))
            for expected, found in zip(expected_added_meta_graphs, self._added_meta_graphs):
                test_util.assert_meta_graph_protos_equal(test_case, expected, found)
        if expected_session_logs is not None:
            test_case.assertEqual(expected_session_logs, self._added_session_logs)

    def add_summary(self, summ, current_global_step):
        if isinstance(summ, bytes):
            summ = protos.Summary.FromString(summ)
        self._summaries.setdefault(current_global_step, []).append(summ)

    def _check_step(self, global_step):
        if global_step is not None and global_step < 0:
            raise ValueError("Invalid global_step %s." % global_step)

    def add_graph(self, graph, global_step=None, graph_def=None):
        self._check_step(global_step)
        if graph_def is not None:
            raise ValueError("Unexpected graph_def %s." % graph_def)
        self._added_graphs.append(graph)

    def add_meta_graph(self, meta_graph_def, global_step=None):
        self._check_step(global_step)
        self._added_meta_graphs.append(meta_graph_def)

    def add_session_log(self, session_log, global_step=None):
        self._added_session_logs.append(session_log)

    def add_run_metadata(self, run_metadata, tag, global_step=None):
        self._check_step(global_step)
        self._added_run_metadata[tag] = run_metadata

    def flush(self):
        pass

    def reopen(self):
        pass

    def close(self):
        pass
