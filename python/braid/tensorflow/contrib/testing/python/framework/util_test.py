"""Reading summaries that tests wrote."""

import glob
import os

from braid import protos
from braid.tensorflow.python.summary import summary_iterator


def assert_summary(expected_tags, expected_simple_values, summary_proto):
    """Checks the tags of a summary, and the values of some. AssertionError: they are others."""
    found = {value.tag for value in summary_proto.value}
    assert set(expected_tags) == found, f"expected {expected_tags}, got {found}"
    for value in summary_proto.value:
        if value.tag in expected_simple_values:
            assert expected_simple_values[value.tag] == value.simple_value, value


def to_summary_proto(summary_str):
    """The message of a serialized summary."""
    return protos.Summary.FromString(summary_str)


def latest_event_file(base_dir):
    """The newest file of events in a directory, None if there is none."""
    files = glob.glob(os.path.join(base_dir, "events.*"))
    return max(files, key=os.path.getctime) if files else None


def latest_events(base_dir):
    """The events of the newest file."""
    file = latest_event_file(base_dir)
    return [] if file is None else list(summary_iterator.summary_iterator(file))


def latest_summaries(base_dir):
    """The events of the newest file that have a summary."""
    return [event for event in latest_events(base_dir) if event.HasField("summary")]


def simple_values_from_events(events, tags):
    """{step: {tag: value}} of some tags."""
    found = {}
    for event in events:
        values = {v.tag: v.simple_value for v in event.summary.value if v.tag in tags}
        if values:
            found.setdefault(event.step, {}).update(values)
    return found
