"""Runs tensors of a graph in a session of their own."""

import itertools

from braid.tensorflow.python.client import session as session_lib
from braid.tensorflow.python.ops import lookup_ops
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.training import coordinator
from braid.tensorflow.python.training import queue_runner
from braid.tensorflow.python.training import saver


def run_feeds_iter(output_dict, feed_dicts, restore_checkpoint_path=None):
    """The values of a dict of tensors, a dict for each of feed_dicts.

    restore_checkpoint_path: variables are read from it; without it they are initialized.
    """
    if not output_dict:
        raise ValueError(f"output_dict is invalid: {output_dict}.")
    if not feed_dicts:
        raise ValueError(f"feed_dicts is invalid: {feed_dicts}.")
    graphs = {t.graph for t in output_dict.values()}
    if len(graphs) != 1:
        raise ValueError(f"{list(output_dict.values())} must be from the same graph.")
    (graph,) = graphs
    with graph.as_default(), session_lib.Session() as session:
        if restore_checkpoint_path:
            saver.Saver().restore(session, restore_checkpoint_path)
        else:
            session.run(variables.global_variables_initializer())
        session.run(variables.local_variables_initializer())
        session.run(lookup_ops.tables_initializer())
        coord = coordinator.Coordinator()
        threads = []
        try:
            threads = queue_runner.start_queue_runners(session, coord=coord)
            for feed in feed_dicts:
                yield session.run(output_dict, feed)
        finally:
            coord.request_stop()
            if threads:
                coord.join(threads, stop_grace_period_secs=120)


def run_feeds(*args, **kwargs):
    """The list of what run_feeds_iter gives."""
    return list(run_feeds_iter(*args, **kwargs))


def run_n(output_dict, feed_dict=None, restore_checkpoint_path=None, n=1):
    """The values of a dict of tensors, n times with the same feeds: a list of dicts."""
    return run_feeds(output_dict, itertools.repeat(feed_dict, n), restore_checkpoint_path)


def infer(restore_checkpoint_path, output_dict, feed_dict=None):
    """The values of a dict of tensors with variables of a checkpoint; initialized ones if the path is
    None."""
    return run_feeds(output_dict, [feed_dict], restore_checkpoint_path)[0]
