"""tf.contrib.testing: what tests of summaries use."""

from braid.tensorflow.contrib.testing.python.framework.fake_summary_writer import (  # noqa: F401
    FakeSummaryWriter,
)
from braid.tensorflow.contrib.testing.python.framework.util_test import (  # noqa: F401
    assert_summary,
    latest_event_file,
    latest_events,
    latest_summaries,
    simple_values_from_events,
    to_summary_proto,
)
