"""learn_runner.run: runs the part of an experiment that is this task's."""

from braid.tensorflow.contrib.learn.python.learn import experiment as experiment_lib
from braid.tensorflow.contrib.learn.python.learn.estimators import run_config as run_config_lib
from braid.tensorflow.python.platform import tf_logging as logging


def _schedule_of(config):
    """The method for the task: a parameter server serves, a worker trains, a master or a lone task does all."""
    if not config or not config.cluster_spec or not config.cluster_spec.as_dict():
        return "train_and_evaluate"
    task = config.task_type
    if not task:
        raise ValueError("Must specify a schedule")
    if task == run_config_lib.TaskType.PS:
        return "run_std_server"
    if task in (run_config_lib.TaskType.MASTER, run_config_lib.TaskType.CHIEF):
        return "train_and_evaluate"
    if task == run_config_lib.TaskType.WORKER:
        return "train"
    if task == run_config_lib.TaskType.EVALUATOR:
        return "continuous_eval"
    raise ValueError(f"No default schedule for task type: {task}")


def _execute_schedule(experiment, schedule):
    method = getattr(experiment, schedule, None)
    if not callable(method):
        valid = [n for n in dir(experiment) if not n.startswith("_") and callable(getattr(experiment, n))]
        raise ValueError(f"Schedule references non-existent task {schedule}. Valid are: {valid}")
    return method()


def run(experiment_fn, output_dir=None, schedule=None, run_config=None, hparams=None):
    """Runs the method `schedule` of an Experiment; that of the task in TF_CONFIG if None.

    experiment_fn: a function of (run_config, hparams), or of output_dir.
    """
    if output_dir is not None and run_config is not None:
        raise ValueError("Cannot provide both `output_dir` and `run_config`")
    if not callable(experiment_fn):
        raise TypeError(f'Experiment builder "{experiment_fn}" is not callable.')
    if run_config is not None:
        experiment = experiment_fn(run_config, hparams)
    else:
        if not output_dir:
            raise ValueError("Must specify an output directory")
        experiment = experiment_fn(output_dir=output_dir)
    if not isinstance(experiment, experiment_lib.Experiment):
        raise TypeError(
            f"Experiment builder did not return an Experiment instance, got {type(experiment)} instead."
        )
    schedule = schedule or _schedule_of(experiment.estimator.config)
    logging.info("Running the schedule %s", schedule)
    return _execute_schedule(experiment, schedule)


def tune(*args, **kwargs):
    """Refused."""
    raise NotImplementedError("tf.contrib.learn.learn_runner.tune: run an experiment for each setting")
