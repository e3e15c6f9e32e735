"""Readers and writers of event files under their old names."""

from braid.tensorflow.python.summary.summary_iterator import summary_iterator  # noqa: F401
from braid.tensorflow.python.summary.writer.writer import FileWriter as SummaryWriter  # noqa: F401
from braid.tensorflow.python.summary.writer.writer_cache import (
    FileWriterCache as SummaryWriterCache,
)  # noqa: F401
