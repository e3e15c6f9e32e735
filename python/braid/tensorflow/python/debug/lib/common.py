"""Names of what runs feed and fetch."""

import collections
import json

GRPC_URL_PREFIX = "grpc://"

RunKey = collections.namedtuple("RunKey", ["feed_names", "fetch_names"])


def get_graph_element_name(elem):
    """The name of an element of a graph, or its text where it has none."""
    return elem.name if hasattr(elem, "name") else str(elem)


def get_flattened_names(feeds_or_fetches):
    """The names of all that lists, tuples and dicts hold."""
    if isinstance(feeds_or_fetches, dict):
        feeds_or_fetches = list(feeds_or_fetches.values())
    if isinstance(feeds_or_fetches, (list, tuple)):
        return [name for item in feeds_or_fetches for name in get_flattened_names(item)]
    return [get_graph_element_name(feeds_or_fetches)]


def get_run_key(feed_dict, fetches):
    """A run in JSON: a list of the names that it feeds, and of those that it fetches."""
    return json.dumps(RunKey(get_flattened_names(feed_dict), get_flattened_names(fetches)))
