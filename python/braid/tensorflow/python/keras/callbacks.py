"""Callbacks: what happens besides training, at the begin and end of batches and epochs."""

import collections
import csv
import json
import os
import re
import urllib.parse
import urllib.request

import numpy as np

from braid.tensorflow.python.eager import profiler
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras.utils.data_utils import Sequence  # noqa: F401
from braid.tensorflow.python.keras.utils.generic_utils import Progbar
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.training import checkpoint_management
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import keras_export


def configure_callbacks(
    callbacks,
    model,
    do_validation=False,
    batch_size=None,
    epochs=None,
    steps_per_epoch=None,
    samples=None,
    verbose=1,
    count_mode="steps",
    mode="train",
):
    """A CallbackList of the program's callbacks; for training, of the history and the progress bar, too."""
    if isinstance(callbacks, CallbackList):
        return callbacks
    callbacks = (
        list(callbacks) if isinstance(callbacks, (list, tuple)) else ([callbacks] if callbacks else [])
    )
    if mode == "train":
        model.history = History()
        callbacks = [BaseLogger()] + callbacks + [model.history]
        if verbose:
            callbacks.append(ProgbarLogger(count_mode))
    if model._in_multi_worker_mode() and not model._strategy.extended.should_checkpoint:
        callbacks = [c for c in callbacks if not getattr(c, "_chief_worker_only", False)]
    result = CallbackList(callbacks)
    result.set_model(getattr(model, "callback_model", None) or model)
    names = model.metrics_names if model._is_compiled else []
    for callback in callbacks:
        if isinstance(callback, (BaseLogger, ProgbarLogger)):
            callback.stateful_metrics = set(names[1:])
    if mode == "predict":
        names = []
    result.set_params(
        {
            "batch_size": batch_size,
            "epochs": epochs,
            "steps": steps_per_epoch,
            "samples": samples,
            "verbose": verbose,
            "do_validation": do_validation,
            "metrics": names + ["val_" + n for n in names] if do_validation else list(names),
        }
    )
    result.model.stop_training = False
    return result


def configure_loop(callbacks, model, steps=None, use_steps=True, verbose=1, **settings):
    """(CallbackList, ProgbarLogger) for fit, evaluate or predict. The bar is called after all callbacks."""
    count_mode = "steps" if use_steps else "samples"
    callbacks = configure_callbacks(
        callbacks, model, steps_per_epoch=steps, verbose=0, count_mode=count_mode, **settings
    )
    bar = ProgbarLogger(count_mode, model.metrics_names[1:] if model._is_compiled else ())
    bar.params = callbacks.params
    bar.params["verbose"] = verbose
    bar.model = model
    return callbacks, bar


class CallbackList:
    """Callbacks in a row."""

    def __init__(self, callbacks=None, queue_length=10):
        self.callbacks = list(callbacks or [])
        self.params, self.model = {}, None

    def append(self, callback):
        self.callbacks.append(callback)

    def set_params(self, params):
        self.params = params
        for callback in self.callbacks:
            callback.set_params(params)

    def set_model(self, model):
        self.model = model
        for callback in self.callbacks:
            callback.set_model(model)

    def _call_batch_hook(self, mode, hook, batch, logs=None):
        logs = {} if logs is None else logs
        for callback in self.callbacks:
            getattr(callback, f"on_{mode}_batch_{hook}")(batch, logs)

    def _call_begin_hook(self, mode):
        getattr(self, f"on_{mode}_begin")()

    def _call_end_hook(self, mode):
        getattr(self, f"on_{mode}_end")()

    def on_batch_begin(self, batch, logs=None):
        self._call_batch_hook("train", "begin", batch, logs)

    def on_batch_end(self, batch, logs=None):
        self._call_batch_hook("train", "end", batch, logs)

    def on_train_batch_begin(self, batch, logs=None):
        self._call_batch_hook("train", "begin", batch, logs)

    def on_train_batch_end(self, batch, logs=None):
        self._call_batch_hook("train", "end", batch, logs)

    def on_test_batch_begin(self, batch, logs=None):
        self._call_batch_hook("test", "begin", batch, logs)

    def on_test_batch_end(self, batch, logs=None):
        self._call_batch_hook("test", "end", batch, logs)

    def on_predict_batch_begin(self, batch, logs=None):
        self._call_batch_hook("predict", "begin", batch, logs)

    def on_predict_batch_end(self, batch, logs=None):
        self._call_batch_hook("predict", "end", batch, logs)

    def on_epoch_begin(self, epoch, logs=None):
        for callback in self.callbacks:
            callback.on_epoch_begin(epoch, logs or {})

    def on_epoch_end(self, epoch, logs=None):
        for callback in self.callbacks:
            callback.on_epoch_end(epoch, logs if logs is not None else {})

    def on_train_begin(self, logs=None):
        for callback in self.callbacks:
            callback.on_train_begin(logs or {})

    def on_train_end(self, logs=None):
        for callback in self.callbacks:
            callback.on_train_end(logs or {})

    def on_test_begin(self, logs=None):
        for callback in self.callbacks:
            callback.on_test_begin(logs or {})

    def on_test_end(self, logs=None):
        for callback in self.callbacks:
            callback.on_test_end(logs or {})

    def on_predict_begin(self, logs=None):
        for callback in self.callbacks:
            callback.on_predict_begin(logs or {})

    def on_predict_end(self, logs=None):
        for callback in self.callbacks:
            callback.on_predict_end(logs or {})

    def __iter__(self):
        return iter(self.callbacks)


@keras_export("keras.callbacks.Callback")
class Callback:
    """The base. `model` is the model, `params` a dict of the run's settings."""

    def __init__(self):
        self.validation_data = None
        self.model = None
        self.params = {}

    def set_params(self, params):
        self.params = params

    def set_model(self, model):
        self.model = model

    def on_batch_begin(self, batch, logs=None):
        """The older name of on_train_batch_begin."""

    def on_batch_end(self, batch, logs=None):
        """The older name of on_train_batch_end."""

    def on_epoch_begin(self, epoch, logs=None):
        """Before an epoch."""

    def on_epoch_end(self, epoch, logs=None):
        """After an epoch; logs: loss and metrics, those of validation as val_NAME."""

    def on_train_batch_begin(self, batch, logs=None):
        """Before a step of training."""
        self.on_batch_begin(batch, logs=logs)

    def on_train_batch_end(self, batch, logs=None):
        """After a step of training."""
        self.on_batch_end(batch, logs=logs)

    def on_test_batch_begin(self, batch, logs=None):
        """Before a batch of evaluation."""

    def on_test_batch_end(self, batch, logs=None):
        """After a batch of evaluation."""

    def on_predict_batch_begin(self, batch, logs=None):
        """Before a batch of prediction."""

    def on_predict_batch_end(self, batch, logs=None):
        """After a batch of prediction."""

    def on_train_begin(self, logs=None):
        """Before training."""

    def on_train_end(self, logs=None):
        """After training."""

    def on_test_begin(self, logs=None):
        """Before evaluation."""

    def on_test_end(self, logs=None):
        """After evaluation."""

    def on_predict_begin(self, logs=None):
        """Before prediction."""

    def on_predict_end(self, logs=None):
        """After prediction."""


@keras_export("keras.callbacks.BaseLogger")
class BaseLogger(Callback):
    """Averages the loss over an epoch; stateful metrics stay as they are."""

    def __init__(self, stateful_metrics=None):
        super().__init__()
        self.stateful_metrics = set(stateful_metrics or [])

    def on_epoch_begin(self, epoch, logs=None):
        self.seen, self.totals = 0, {}

    def on_batch_end(self, batch, logs=None):
        size = (logs or {}).get("size", 0)
        self.seen += size * (logs or {}).get("num_steps", 1)
        for name, value in (logs or {}).items():
            if name in self.stateful_metrics:
                self.totals[name] = value
            else:
                self.totals[name] = self.totals.get(name, 0) + value * size

    def on_epoch_end(self, epoch, logs=None):
        for name in self.params["metrics"]:
            if logs is not None and name in self.totals and name not in logs:
                logs[name] = (
                    self.totals[name] if name in self.stateful_metrics else self.totals[name] / self.seen
                )


@keras_export("keras.callbacks.TerminateOnNaN")
class TerminateOnNaN(Callback):
    """Stops training when the loss is no number."""

    def on_batch_end(self, batch, logs=None):
        loss = (logs or {}).get("loss")
        if loss is not None and not np.isfinite(loss):
            print(f"Batch {batch}: Invalid loss, terminating training")
            self.model.stop_training = True


@keras_export("keras.callbacks.ProgbarLogger")
class ProgbarLogger(Callback):
    """Shows the progress. count_mode: "samples" or "steps"."""

    def __init__(self, count_mode="samples", stateful_metrics=None):
        super().__init__()
        if count_mode not in ("samples", "steps"):
            raise ValueError(f"Unknown `count_mode`: {count_mode}")
        self.use_steps = count_mode == "steps"
        self.stateful_metrics = set(stateful_metrics or [])

    def on_train_begin(self, logs=None):
        self.verbose, self.epochs = self.params["verbose"], self.params["epochs"]

    def on_epoch_begin(self, epoch, logs=None):
        self.seen = 0
        self.target = self.params["steps"] if self.use_steps else self.params["samples"]
        if self.verbose and self.epochs > 1:
            print(f"Epoch {epoch + 1}/{self.epochs}")
        self.progbar = Progbar(
            target=self.target,
            verbose=self.verbose,
            stateful_metrics=self.stateful_metrics,
            unit_name="step" if self.use_steps else "sample",
        )

    def on_batch_begin(self, batch, logs=None):
        self.log_values = []

    def _values(self, logs):
        return [(k, logs[k]) for k in self.params["metrics"] if k in (logs or {})]

    def on_batch_end(self, batch, logs=None):
        logs = logs or {}
        steps = logs.get("num_steps", 1)
        self.seen += steps if self.use_steps else logs.get("size", 0) * steps
        self.log_values = self._values(logs)
        # The last batch is shown at the end of the epoch, with what validation gives.
        if self.verbose and (self.target is None or self.seen < self.target):
            self.progbar.update(self.seen, self.log_values)

    def on_epoch_end(self, epoch, logs=None):
        if self.verbose:
            self.progbar.update(self.seen, self.log_values + self._values(logs))


@keras_export("keras.callbacks.History")
class History(Callback):
    """The values of all epochs: history, a dict from names to lists; epoch, their numbers."""

    def __init__(self):
        super().__init__()
        self.history = {}
        self.epoch = []

    def on_train_begin(self, logs=None):
        self.epoch = []
        self.history = {}

    def on_epoch_end(self, epoch, logs=None):
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)


def _comparison(mode, monitor, what):
    """(the comparison for a monitored value, the worst value)."""
    if mode not in ("auto", "min", "max"):
        logging.warning("%s mode %s is unknown, fallback to auto mode.", what, mode)
        mode = "auto"
    largest = mode == "max" or (
        mode == "auto" and ("acc" in monitor or monitor.startswith("fmeasure") or "auc" in monitor.lower())
    )
    return (np.greater, -np.inf) if largest else (np.less, np.inf)


@keras_export("keras.callbacks.ModelCheckpoint")
class ModelCheckpoint(Callback):
    """Saves the model, or its weights, after epochs.

    filepath: may have {epoch:02d} and names of logs. save_best_only: only when `monitor` is better than
    before. save_freq: "epoch", or after how many samples. period: every how many epochs.
    """

    def __init__(
        self,
        filepath,
        monitor="val_loss",
        verbose=0,
        save_best_only=False,
        save_weights_only=False,
        mode="auto",
        save_freq="epoch",
        **kwargs,
    ):
        super().__init__()
        self.monitor, self.verbose = monitor, verbose
        self.filepath = filepath if filepath is None else os.fspath(filepath)
        self.save_best_only, self.save_weights_only, self.save_freq = (
            save_best_only,
            save_weights_only,
            save_freq,
        )
        self.period = kwargs.pop("period", 1)
        self.load_weights_on_restart = kwargs.pop("load_weights_on_restart", False)
        if kwargs:
            raise TypeError(f"ModelCheckpoint got unexpected arguments {sorted(kwargs)}")
        self.epochs_since_last_save = 0
        self._samples = 0
        if save_freq != "epoch" and not isinstance(save_freq, int):
            raise ValueError(f"Unrecognized save_freq: {save_freq}")
        self.monitor_op, self.best = _comparison(mode, monitor, "ModelCheckpoint")

    def set_model(self, model):
        self.model = model
        if not model._is_graph_network and type(model).__name__ != "Sequential":
            self.save_weights_only = True  # a program's own class cannot be written

    def on_train_begin(self, logs=None):
        if self.load_weights_on_restart:
            path = self._get_most_recently_modified_file_matching_pattern(self.filepath)
            if path is not None and (os.path.exists(path) or os.path.exists(path + ".index")):
                try:
                    self.model.load_weights(path)
                except (OSError, ValueError) as e:
                    raise ValueError(f"Error loading file from {path}. Reason: {e}") from e

    def _get_most_recently_modified_file_matching_pattern(self, pattern):
        """The latest checkpoint of TensorFlow that has the name, or else the file that was written last; of
        several at the same time, that with the largest name. {...} in the pattern stands for anything.
        """
        directory = os.path.dirname(pattern)
        name = re.compile("^" + re.sub(r"{.*}", r".*", os.path.basename(pattern)) + "$")
        latest = checkpoint_management.latest_checkpoint(directory)
        if latest is not None and name.match(os.path.basename(latest)):
            return latest
        found = (
            [f for f in os.listdir(directory or ".") if name.match(f)]
            if os.path.isdir(directory or ".")
            else []
        )
        paths = [os.path.join(directory, f) for f in found]
        return max(paths, key=lambda path: (os.path.getmtime(path), path), default=None)

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch = epoch

    def on_batch_end(self, batch, logs=None):
        if isinstance(self.save_freq, int):
            self._samples += (logs or {}).get("size", 1)
            if self._samples >= self.save_freq:
                self.epochs_since_last_save = 0
                self._save(self._epoch, logs or {})
                self._samples = 0

    def on_epoch_end(self, epoch, logs=None):
        self.epochs_since_last_save += 1
        if self.save_freq == "epoch" and self.epochs_since_last_save >= self.period:
            self.epochs_since_last_save = 0
            self._save(epoch, logs or {})

    def _save(self, epoch, logs):
        if self.model._in_multi_worker_mode() and not self.model._strategy.extended.should_checkpoint:
            return  # another worker saves the same values
        path = self.filepath.format(epoch=epoch + 1, **logs)
        if self.save_best_only:
            current = logs.get(self.monitor)
            if current is None:
                logging.warning("Can save best model only with %s available, skipping.", self.monitor)
                return
            if not self.monitor_op(current, self.best):
                if self.verbose > 0:
                    print(f"\nEpoch {epoch + 1:05d}: {self.monitor} did not improve from {self.best:0.5f}")
                return
            if self.verbose > 0:
                print(
                    f"\nEpoch {epoch + 1:05d}: {self.monitor} improved from {self.best:0.5f} to {current:0.5f}, "
                    f"saving model to {path}"
                )
            self.best = current
        elif self.verbose > 0:
            print(f"\nEpoch {epoch + 1:05d}: saving model to {path}")
        directory = os.path.dirname(path)
        if directory:
            os.makedirs(directory, exist_ok=True)
        if self.save_weights_only:
            self.model.save_weights(path, overwrite=True)
        else:
            self.model.save(path, overwrite=True)


@keras_export("keras.callbacks.EarlyStopping")
class EarlyStopping(Callback):
    """Stops when a value has not become better, by min_delta, for `patience` epochs."""

    def __init__(
        self,
        monitor="val_loss",
        min_delta=0,
        patience=0,
        verbose=0,
        mode="auto",
        baseline=None,
        restore_best_weights=False,
    ):
        super().__init__()
        self.monitor, self.patience, self.verbose = monitor, patience, verbose
        self.baseline, self.restore_best_weights = baseline, restore_best_weights
        self.monitor_op, self._worst = _comparison(mode, monitor, "EarlyStopping")
        self.min_delta = abs(min_delta) * (1 if self.monitor_op is np.greater else -1)
        self.wait = self.stopped_epoch = 0
        self.best_weights = None

    def on_train_begin(self, logs=None):
        self.wait = self.stopped_epoch = 0
        self.best = self._worst if self.baseline is None else self.baseline

    def on_epoch_end(self, epoch, logs=None):
        current = self.get_monitor_value(logs)
        if current is None:
            return
        if self.monitor_op(current - self.min_delta, self.best):
            self.best, self.wait = current, 0
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            return
        self.wait += 1
        if self.wait >= self.patience:
            self.stopped_epoch = epoch
            self.model.stop_training = True
            if self.restore_best_weights and self.best_weights is not None:
                if self.verbose > 0:
                    print("Restoring model weights from the end of the best epoch.")
                self.model.set_weights(self.best_weights)

    def on_train_end(self, logs=None):
        if self.stopped_epoch > 0 and self.verbose > 0:
            print(f"Epoch {self.stopped_epoch + 1:05d}: early stopping")

    def get_monitor_value(self, logs):
        value = (logs or {}).get(self.monitor)
        if value is None:
            logging.warning(
                "Early stopping conditioned on metric `%s` which is not available. Available metrics are: "
                "%s",
                self.monitor,
                ",".join(logs or {}),
            )
        return value


@keras_export("keras.callbacks.RemoteMonitor")
class RemoteMonitor(Callback):
    """Sends the values of each epoch to a web server, by POST: a field with JSON, or JSON alone."""

    def __init__(
        self,
        root="http://localhost:9000",
        path="/publish/epoch/end/",
        field="data",
        headers=None,
        send_as_json=False,
    ):
        super().__init__()
        self.root, self.path, self.field = root, path, field
        self.headers, self.send_as_json = headers, send_as_json

    def on_epoch_end(self, epoch, logs=None):
        text = json.dumps({"epoch": epoch, **{k: float(v) for k, v in (logs or {}).items()}})
        kind = "application/json" if self.send_as_json else "application/x-www-form-urlencoded"
        if not self.send_as_json:
            text = urllib.parse.urlencode({self.field: text})
        headers = {"Content-Type": kind, **(self.headers or {})}
        request = urllib.request.Request(self.root + self.path, text.encode(), headers)
        try:
            urllib.request.urlopen(request, timeout=60).close()
        except OSError as error:
            logging.warning("Warning: could not reach RemoteMonitor root server at %s: %s", self.root, error)


@keras_export("keras.callbacks.LearningRateScheduler")
class LearningRateScheduler(Callback):
    """Sets the learning rate at each epoch: schedule(epoch), or schedule(epoch, learning rate)."""

    def __init__(self, schedule, verbose=0):
        super().__init__()
        self.schedule, self.verbose = schedule, verbose

    def on_epoch_begin(self, epoch, logs=None):
        if not hasattr(self.model.optimizer, "lr"):
            raise ValueError('Optimizer must have a "lr" attribute.')
        try:
            lr = self.schedule(epoch, float(K.get_value(self.model.optimizer.lr)))
        except TypeError:
            lr = self.schedule(epoch)
        if not isinstance(lr, (float, np.float32, np.float64)):
            raise ValueError('The output of the "schedule" function should be float.')
        K.set_value(self.model.optimizer.lr, lr)
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1:05d}: LearningRateScheduler reducing learning rate to {lr}.")

    def on_epoch_end(self, epoch, logs=None):
        if logs is not None:
            logs["lr"] = K.get_value(self.model.optimizer.lr)


@keras_export("keras.callbacks.ReduceLROnPlateau")
class ReduceLROnPlateau(Callback):
    """Multiplies the learning rate by `factor` when a value has not become better for `patience` epochs."""

    def __init__(
        self,
        monitor="val_loss",
        factor=0.1,
        patience=10,
        verbose=0,
        mode="auto",
        min_delta=1e-4,
        cooldown=0,
        min_lr=0,
        **kwargs,
    ):
        super().__init__()
        if factor >= 1.0:
            raise ValueError("ReduceLROnPlateau does not support a factor >= 1.0.")
        if "epsilon" in kwargs:
            min_delta = kwargs.pop("epsilon")
            logging.warning("`epsilon` argument is deprecated and will be removed, use `min_delta` instead.")
        if kwargs:
            raise TypeError(f"ReduceLROnPlateau got unexpected arguments {sorted(kwargs)}")
        self.monitor, self.factor, self.patience, self.verbose = monitor, factor, patience, verbose
        self.min_lr, self.min_delta, self.cooldown, self.mode = min_lr, min_delta, cooldown, mode
        self._reset()

    def _reset(self):
        better, self.best = _comparison(self.mode, self.monitor, "ReduceLROnPlateau")
        delta = self.min_delta if better is np.greater else -self.min_delta
        self.monitor_op = lambda a, b: better(a, b + delta)
        self.cooldown_counter = self.wait = 0

    def on_train_begin(self, logs=None):
        self._reset()

    def on_epoch_end(self, epoch, logs=None):
        logs = logs if logs is not None else {}
        logs["lr"] = K.get_value(self.model.optimizer.lr)
        current = logs.get(self.monitor)
        if current is None:
            logging.warning(
                "Reduce LR on plateau conditioned on metric `%s` which is not available. Available metrics "
                "are: %s",
                self.monitor,
                ",".join(logs),
            )
            return
        if self.in_cooldown():
            self.cooldown_counter -= 1
            self.wait = 0
        if self.monitor_op(current, self.best):
            self.best, self.wait = current, 0
        elif not self.in_cooldown():
            self.wait += 1
            if self.wait >= self.patience:
                old = float(K.get_value(self.model.optimizer.lr))
                if old > self.min_lr:
                    new = max(old * self.factor, self.min_lr)
                    K.set_value(self.model.optimizer.lr, new)
                    if self.verbose > 0:
                        print(f"\nEpoch {epoch + 1:05d}: ReduceLROnPlateau reducing learning rate to {new}.")
                    self.cooldown_counter, self.wait = self.cooldown, 0

    def in_cooldown(self):
        return self.cooldown_counter > 0


@keras_export("keras.callbacks.CSVLogger")
class CSVLogger(Callback):
    """Writes the values of epochs to a CSV file."""

    def __init__(self, filename, separator=",", append=False):
        super().__init__()
        self.filename, self.sep, self.append = filename, separator, append
        self.writer = self.keys = self.csv_file = None
        self.append_header = True

    def on_train_begin(self, logs=None):
        if self.append and os.path.exists(self.filename):
            with open(self.filename, encoding="utf-8") as file:
                self.append_header = not bool(len(file.readline()))
        self.csv_file = open(self.filename, "a" if self.append else "w", encoding="utf-8", newline="")

    def on_epoch_end(self, epoch, logs=None):
        logs = logs or {}

        def text(value):
            if isinstance(value, str) or np.ndim(value) == 0:
                return value
            return '"[%s]"' % ", ".join(map(str, np.ravel(value)))

        if self.keys is None:
            self.keys = sorted(logs)
        if self.model.stop_training:
            logs = {k: logs.get(k, "NA") for k in self.keys}
        if not self.writer:
            self.writer = csv.DictWriter(
                self.csv_file, fieldnames=["epoch"] + self.keys, delimiter=self.sep, lineterminator="\n"
            )
            if self.append_header:
                self.writer.writeheader()
        row = collections.OrderedDict({"epoch": epoch})
        row.update((key, text(logs.get(key, "NA"))) for key in self.keys)
        self.writer.writerow(row)
        self.csv_file.flush()

    def on_train_end(self, logs=None):
        self.csv_file.close()
        self.writer = None


@keras_export("keras.callbacks.LambdaCallback")
class LambdaCallback(Callback):
    """A callback of functions."""

    def __init__(
        self,
        on_epoch_begin=None,
        on_epoch_end=None,
        on_batch_begin=None,
        on_batch_end=None,
        on_train_begin=None,
        on_train_end=None,
        **kwargs,
    ):
        super().__init__()
        self.__dict__.update(kwargs)
        for name, fn in (
            ("on_epoch_begin", on_epoch_begin),
            ("on_epoch_end", on_epoch_end),
            ("on_batch_begin", on_batch_begin),
            ("on_batch_end", on_batch_end),
            ("on_train_begin", on_train_begin),
            ("on_train_end", on_train_end),
        ):
            if fn is not None:
                setattr(self, name, fn)


@keras_export(v1=["keras.callbacks.TensorBoard"])
class TensorBoard(Callback):
    """Writes events for TensorBoard: the graph, losses and metrics, and the summaries of validation.

    histogram_freq: in every how many epochs each batch of validation writes histograms of weights and outputs
    and the program's own summaries; 0 for never. write_images: also weights as images. write_grads: also
    histograms of gradients. update_freq: "epoch", "batch" or a number of samples. profile_batch: the batch
    of training whose steps are profiled; 0: none. embeddings_freq: in every how many epochs the outputs of
    embeddings for `embeddings_data` are saved for the projector; embeddings_layer_names: of which layers (of
    all Embeddings); embeddings_metadata: a file with a name for each row, or a dictionary of these by layers.
    """

    _chief_worker_only = True  # of workers that train together the first writes

    def __init__(
        self,
        log_dir="./logs",
        histogram_freq=0,
        batch_size=32,
        write_graph=True,
        write_grads=False,
        write_images=False,
        embeddings_freq=0,
        embeddings_layer_names=None,
        embeddings_metadata=None,
        embeddings_data=None,
        update_freq="epoch",
        profile_batch=2,
    ):
        super().__init__()
        self.log_dir, self.histogram_freq, self.write_graph = log_dir, histogram_freq, write_graph
        self.write_grads, self.write_images = write_grads, write_images
        self.merged = None
        self._total_val_batches_seen = 0
        self.update_freq = 1 if update_freq == "batch" else update_freq
        self._samples_seen = self._samples_at_last_write = self._total_batches_seen = 0
        self.batch_size = batch_size
        self.embeddings_freq, self.embeddings_layer_names = embeddings_freq, embeddings_layer_names
        self.embeddings_metadata, self.embeddings_data = embeddings_metadata, embeddings_data
        self._profile_batch, self._is_profiling = profile_batch, False

    def _init_writer(self, model):
        from braid.tensorflow.python.summary.writer import writer as writer_module

        self.writer = writer_module.FileWriter(self.log_dir, K.get_graph() if self.write_graph else None)

    def set_model(self, model):
        from braid.tensorflow.python.summary import summary

        super().set_model(model)
        self._init_writer(model)
        with K.get_graph().as_default(), K.name_scope(""):
            if self.histogram_freq and self.merged is None:
                for layer in model.layers:
                    self._summarize(layer)
            self.merged = summary.merge_all()
            if self.embeddings_freq and self.embeddings_data is not None:
                self._prepare_embeddings()

    def _prepare_embeddings(self):
        """Makes a variable for the outputs of each layer that is shown, and tells the projector of it."""
        from braid.tensorflow.contrib.tensorboard.plugins import projector
        from braid.tensorflow.python.keras.engine import training_utils
        from braid.tensorflow.python.training import saver

        model = self.model
        self.embeddings_data = training_utils.standardize_input_data(self.embeddings_data, model.input_names)
        names = self.embeddings_layer_names or [
            layer.name for layer in model.layers if type(layer).__name__ == "Embedding"
        ]
        metadata = self.embeddings_metadata
        if isinstance(metadata, str):
            metadata = {name: metadata for name in names}
        self.batch_id, self.step = (array_ops.placeholder(dtypes.int32) for _ in range(2))
        self.assign_embeddings, shown, config = [], [], projector.ProjectorConfig()
        for layer in model.layers:
            if layer.name not in names:
                continue
            size = int(np.prod(layer.output.shape.as_list()[1:]))
            rows = array_ops.reshape(layer.output, (self.step, size))
            zeros = array_ops.zeros((len(self.embeddings_data[0]), size))
            variable = variables.VariableV1(zeros, name=layer.name + "_embedding", trainable=False)
            self.assign_embeddings.append(
                state_ops.assign(variable[self.batch_id : self.batch_id + self.step], rows)
            )
            shown.append(variable)
            config.embeddings.add(
                tensor_name=variable.name, metadata_path=(metadata or {}).get(layer.name, "")
            )
        self._shown_embeddings = shown
        self.saver = saver.Saver(shown)
        projector.visualize_embeddings(self.writer, config)

    def _save_embeddings(self, epoch):
        session = K.get_session()
        session.run([v.initializer for v in self._shown_embeddings])
        data = self.embeddings_data
        for first in range(0, len(data[0]), self.batch_size):
            batches = [array[first : first + self.batch_size] for array in data]
            feed = dict(zip(self.model.inputs, batches))
            feed.update({self.batch_id: first, self.step: len(batches[0])})
            if not isinstance(K.learning_phase(), int):
                feed[K.learning_phase()] = False
            session.run(self.assign_embeddings, feed_dict=feed)
        self.saver.save(session, os.path.join(self.log_dir, "keras_embedding.ckpt"), epoch)

    def _summarize(self, layer):
        """Makes the summaries of a layer."""
        from braid.tensorflow.python.ops import gradients_impl
        from braid.tensorflow.python.summary import summary

        for weight in layer.weights:
            name = weight.name.replace(":", "_")
            summary.histogram(name, weight)
            image = _image_of(weight) if self.write_images else None
            if image is not None:
                summary.image(name, image)
        for weight in layer.trainable_weights if self.write_grads else ():
            (gradient,) = gradients_impl.gradients(self.model.total_loss, [weight])
            if gradient is not None:
                summary.histogram(
                    weight.name.replace(":", "_") + "_grad", getattr(gradient, "values", gradient)
                )
        if len(layer.inbound_nodes) == 1:
            outputs = nest.flatten(layer.output)
            for i, output in enumerate(outputs):
                summary.histogram(f"{layer.name}_out" + (f"_{i}" if len(outputs) > 1 else ""), output)

    def _fetched(self, value):
        self.writer.add_summary(value, self._total_val_batches_seen)
        self._total_val_batches_seen += 1

    def on_epoch_begin(self, epoch, logs=None):
        if self.merged is not None and self.histogram_freq and epoch % self.histogram_freq == 0:
            self.model._make_test_function()
            function = self.model.test_function
            if self.merged not in function.fetches:
                function.fetches.append(self.merged)
                function.fetch_callbacks[self.merged] = self._fetched

    def _write(self, prefix, logs, step):
        from braid import protos

        for name, value in logs.items():
            if name not in ("batch", "size", "num_steps"):
                values = protos.Summary()
                values.value.add(tag=prefix + name, simple_value=float(value))
                self.writer.add_summary(values, step)
        self.writer.flush()

    def on_batch_end(self, batch, logs=None):
        logs = logs or {}
        self._samples_seen += logs.get("size", 1)
        if (
            self.update_freq != "epoch"
            and self._samples_seen - self._samples_at_last_write >= self.update_freq
        ):
            self._write("batch_", logs, self._total_batches_seen)
            self._samples_at_last_write = self._samples_seen
        self._total_batches_seen += 1
        if self._is_profiling:
            self._save_profile()
        elif self._total_batches_seen == self._profile_batch - 1:
            self._start_profile()

    def on_train_begin(self, logs=None):
        if self._profile_batch == 1:
            self._start_profile()

    def _start_profile(self):
        profiler.start()
        self._is_profiling = True

    def _save_profile(self):
        profiler.save(self.log_dir, profiler.stop())
        self._is_profiling = False

    def on_epoch_end(self, epoch, logs=None):
        step = epoch if self.update_freq == "epoch" else self._samples_seen
        self._write("epoch_", logs or {}, step)
        function = getattr(self.model, "test_function", None)
        if self.histogram_freq and function is not None and self.merged in function.fetches:
            function.fetches.remove(self.merged)
            function.fetch_callbacks.pop(self.merged)
        if self.embeddings_freq and self.embeddings_data is None:
            raise ValueError("To visualize embeddings, embeddings_data must be provided.")
        if self.embeddings_freq and epoch % self.embeddings_freq == 0:
            self._save_embeddings(epoch)

    def on_train_end(self, logs=None):
        if self._is_profiling:
            self._save_profile()
        self.writer.close()


def _image_of(weight):
    """A weight as images [number, rows, columns, 1]; None for one of more than three axes."""
    image = array_ops.squeeze(weight)
    shape = K.int_shape(image)
    if len(shape) == 1:
        return array_ops.reshape(image, [1, shape[0], 1, 1])
    if len(shape) == 2:
        image = array_ops.transpose(image) if shape[0] > shape[1] else image
        return array_ops.reshape(image, [1, min(shape), max(shape), 1])
    if len(shape) == 3:  # an image for each kernel
        if K.image_data_format() == "channels_last":
            image = array_ops.transpose(image, perm=[2, 0, 1])
        return array_ops.expand_dims(image, -1)
    return None
