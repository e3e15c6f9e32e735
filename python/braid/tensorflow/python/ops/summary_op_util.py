"""Names and collections of summary ops."""

import contextlib
import re

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.platform import tf_logging

_INVALID_TAG_CHARACTERS = re.compile(r"[^-/\w\.]")


def collect(val, collections, default_collections):
    """Adds a value to collections; None: to the default ones."""
    for key in default_collections if collections is None else collections:
        ops.add_to_collection(key, val)


def clean_tag(name):
    """A name with "_" for characters that scopes do not have, and without a leading "/"."""
    if name is None:
        return None
    cleaned = _INVALID_TAG_CHARACTERS.sub("_", name).lstrip("/")
    if cleaned != name:
        tf_logging.info("Summary name %s is illegal; using %s instead." % (name, cleaned))
    return cleaned


@contextlib.contextmanager
def summary_scope(name, family=None, default_name=None, values=None):
    """The scope of a summary op. Yields (tag, scope); `family` stands before both."""
    name = clean_tag(name)
    family = clean_tag(family)
    base = name if family is None else "{}/{}".format(family, name)
    with ops.name_scope(base, default_name, values) as scope:
        tag = scope.rstrip("/")
        yield (tag if family is None else "{}/{}".format(family, tag), scope)
