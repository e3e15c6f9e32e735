"""The interface of services that choose hyperparameters."""

import abc


class Tuner(abc.ABC):
    """Gives the hyperparameters of trials, and takes what they reach."""

    @abc.abstractmethod
    def next_trial(self):
        """Goes to the next trial; whether there is one."""

    @abc.abstractmethod
    def run_experiment(self, experiment_fn):
        """Runs the Experiment that experiment_fn(run_config, hparams) makes, and reports what it reaches."""
