"""What libraries ask before they train an estimator: whether the roles of its cluster find each other by the
coordinator of a distribution strategy. `tf.estimator.train_and_evaluate` does that for both cases here.
"""

from braid.tensorflow.python.platform import tf_logging as logging

_MODES = ("standalone_client", "independent_worker")


def should_run_distribute_coordinator(config):
    """Whether the strategy of a RunConfig asks for the coordinator, and the RunConfig has a cluster."""
    mode = getattr(config, "_distribute_coordinator_mode", None)
    if mode is None:
        logging.info("Not using Distribute Coordinator.")
        return False
    if mode not in _MODES:
        logging.warning("Unexpected distribute_coordinator_mode: %r", mode)
        return False
    if not config.cluster_spec:
        logging.warning(
            "Running `train_and_evaluate` locally, ignoring `experimental_distribute_coordinator_mode`."
        )
        return False
    return True


def train_and_evaluate(estimator, train_spec, eval_spec, executor_cls):
    """Trains and evaluates as the role that TF_CONFIG names, by an object of `executor_cls`."""
    return executor_cls(estimator=estimator, train_spec=train_spec, eval_spec=eval_spec).run()
