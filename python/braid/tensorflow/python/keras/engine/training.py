"""Model: a network that is trained, evaluated and used on arrays, datasets and generators.

compile() builds targets, losses and metrics on the model's outputs. The functions for training, evaluation
and prediction are made at their first use; each runs one batch in Keras' session.
"""

import numpy as np

from braid.tensorflow.python.distribute import distribution_strategy_context
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras import losses as losses_module
from braid.tensorflow.python.keras import metrics as metrics_module
from braid.tensorflow.python.keras import optimizers
from braid.tensorflow.python.keras.engine import base_layer
from braid.tensorflow.python.keras.engine import base_layer_utils
from braid.tensorflow.python.keras.engine import training_utils
from braid.tensorflow.python.keras.engine.network import Network
from braid.tensorflow.python.keras.utils import losses_utils
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.training.tracking import base as trackable
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.models.Model", "keras.Model")
class Model(Network):
    """Layers from `inputs` to `outputs`, or a subclass that defines call(). See compile and fit."""

    @trackable.no_automatic_dependency_tracking
    def compile(
        self,
        optimizer="rmsprop",
        loss=None,
        metrics=None,
        loss_weights=None,
        sample_weight_mode=None,
        weighted_metrics=None,
        target_tensors=None,
        distribute=None,
        **kwargs,
    ):
        """Says how the model is trained.

        optimizer: a name, one of tf.keras.optimizers or of tf.train. loss, loss_weights: one for all outputs,
        a list, or a dict by their names. metrics: a list, or a dict by outputs; "accuracy" is the one that
        fits the loss. weighted_metrics: metrics with the weights of examples. sample_weight_mode: "temporal"
        for weights of steps. target_tensors: tensors to use as labels.
        """
        if distribution_strategy_context.get_strategy().num_replicas_in_sync > 1:
            raise NotImplementedError(
                "Model.compile in the scope of a strategy of several replicas: use "
                "tf.keras.estimator.model_to_estimator, or a strategy of one device"
            )
        run_eagerly = kwargs.pop("run_eagerly", None)
        kwargs.pop("experimental_run_tf_function", None)
        if run_eagerly:
            raise NotImplementedError("Model.compile(run_eagerly=True): Braid has no eager execution")
        if distribute is not None:
            raise NotImplementedError(
                "Model.compile(distribute=): use tf.estimator, or tf.train.replica_device_setter"
            )
        self._run_kwargs = {
            k: kwargs.pop(k) for k in ("options", "run_metadata", "feed_dict", "fetches") if k in kwargs
        }
        if kwargs:
            raise TypeError(f"Invalid keyword argument(s) in `compile`: {sorted(kwargs)}")
        self.optimizer = optimizers.get(optimizer)
        if isinstance(self.optimizer, trackable.Trackable):
            self._track_trackable(self.optimizer, name="optimizer", overwrite=True)
        self.loss = loss if loss is not None else {}
        self.loss_weights = loss_weights
        self.sample_weight_mode = sample_weight_mode
        self._compile_metrics = metrics or []
        self._compile_weighted_metrics = weighted_metrics
        self._given_targets = target_tensors
        self._is_compiled = True
        self._functions = {}
        self._endpoints = None
        self.history = None
        if self.outputs is not None:
            self._compile_outputs()

    @trackable.no_automatic_dependency_tracking
    def _compile_outputs(self):
        """Builds targets, losses and metrics. Weights of examples are added when they are first given."""
        names = self.output_names
        if isinstance(self.loss, dict):
            unknown = set(self.loss) - set(names)
            if unknown:
                raise ValueError(
                    f"Unknown entries in loss dictionary: {sorted(unknown)}. Only expected following keys: "
                    f"{names}"
                )
            loss_list = [self.loss.get(name) for name in names]
        else:
            loss_list = training_utils.by_output(self.loss, names, "loss")
        self.loss_functions = [training_utils.get_loss_function(fn) for fn in loss_list]
        self._loss_weights_list = [
            1.0 if w is None else w
            for w in training_utils.by_output(self.loss_weights, names, "loss_weights")
        ]
        targets = self._given_targets
        if targets is not None:
            if isinstance(targets, dict):
                targets = [targets.get(name) for name in names]
            elif not isinstance(targets, (list, tuple)):
                targets = [targets]
        self._endpoints = []
        graph = self.outputs[0].graph
        with graph.as_default():
            for i, (name, output, fn) in enumerate(zip(names, self.outputs, self.loss_functions)):
                given = targets[i] if targets is not None and i < len(targets) else None
                self._endpoints.append(_Endpoint(name, output, fn, given))
            self._prepare_metrics()
            with_loss = [e for e in self._endpoints if e.loss is not None]
            self._output_loss_metrics = [
                metrics_module.Mean(name=e.name + "_loss") if len(self._endpoints) > 1 else None
                for e in with_loss
            ]
            self._build_total_loss(weighted=False)

    def _prepare_metrics(self):
        """Makes the metrics' objects, and their names in results."""
        names = self.output_names
        self._metric_plan = []  # (endpoint, object, whether weighted), in the order of names
        taken = ["loss"]
        for given, weighted in ((self._compile_metrics, False), (self._compile_weighted_metrics, True)):
            lists = training_utils.metrics_of_outputs(given, names)
            for endpoint, metrics in zip(self._endpoints, lists):
                if endpoint.loss is None and not metrics:
                    continue
                for metric in metrics:
                    if metric is None:
                        continue
                    shape = K.int_shape(endpoint.output)
                    obj, name = training_utils.metric_object(metric, shape, endpoint.loss, weighted)
                    if len(names) > 1:
                        name = f"{endpoint.name}_{name}"
                    name = _unique(name, taken)
                    taken.append(name)
                    obj._name = name
                    self._metric_plan.append((endpoint, obj, weighted))
        # Metrics of an output stand together.
        order = {id(e): i for i, e in enumerate(self._endpoints)}
        self._metric_plan.sort(key=lambda plan: order[id(plan[0])])

    def _build_total_loss(self, weighted):
        """Builds the total loss and the metrics' tensors, with or without weights of examples."""
        self._weighted = weighted
        self._functions = {}
        total = None
        loss_metrics = iter(self._output_loss_metrics)
        self._metric_tensors, self._metric_names, self._metric_objects = [], [], []
        with K.name_scope("loss"):
            for endpoint, weight in zip(self._endpoints, self._loss_weights_list):
                if endpoint.loss is None:
                    continue
                with K.name_scope(endpoint.name + "_loss"):
                    mask = getattr(endpoint.output, "_keras_mask", None)
                    sample_weight = endpoint.make_weight(self._temporal(endpoint)) if weighted else None
                    value = endpoint.loss_value(mask, sample_weight)
                obj = next(loss_metrics)
                if obj is not None:
                    self._metric_names.append(obj.name)
                    self._metric_objects.append(obj)
                    self._metric_tensors.append(obj(value))
                if endpoint.loss.reduction == losses_utils.ReductionV2.NONE:
                    value = losses_utils.reduce_weighted_loss(
                        value, losses_utils.ReductionV2.SUM_OVER_BATCH_SIZE
                    )
                value = weight * value
                total = value if total is None else total + value
            custom = self.get_losses_for(None) + self.get_losses_for(self.inputs)
            custom = base_layer._unique(custom)
            if total is None and not custom:
                raise ValueError("The model cannot be compiled because it has no loss to optimize.")
            if custom:
                extra = math_ops.add_n([math_ops.reduce_sum(math_ops.cast(c, K.floatx())) for c in custom])
                total = extra if total is None else total + extra
        self.total_loss = total
        with K.name_scope("metrics"):
            for endpoint, obj, use_weights in self._metric_plan:
                mask = getattr(endpoint.output, "_keras_mask", None)
                sample_weight = endpoint.weight if use_weights and weighted else None
                with K.name_scope(obj.name):
                    value = _call_metric(obj, endpoint, mask, sample_weight)
                self._metric_names.append(obj.name)
                self._metric_objects.append(obj)
                self._metric_tensors.append(value)
        for obj in base_layer.Layer.metrics.fget(self):
            tensor = _tensor_of(self, obj)
            if tensor is not None and obj not in self._metric_objects:
                self._metric_names.append(obj.name)
                self._metric_objects.append(obj)
                self._metric_tensors.append(tensor)

    def _temporal(self, endpoint):
        mode = self.sample_weight_mode
        if isinstance(mode, dict):
            mode = mode.get(endpoint.name)
        elif isinstance(mode, (list, tuple)):
            mode = mode[self.output_names.index(endpoint.name)]
        return mode == "temporal"

    @property
    def metrics_names(self):
        """The names of the values that fit and evaluate give."""
        return ["loss"] + (list(self._metric_names) if getattr(self, "_endpoints", None) else [])

    @property
    def metrics(self):
        own = list(self._metric_objects) if getattr(self, "_endpoints", None) else []
        return own + [m for m in super().metrics if m not in own]

    @property
    def targets(self):
        return [e.target for e in self._endpoints if e.loss is not None]

    @property
    def sample_weights(self):
        return [e.weight for e in self._endpoints if e.loss is not None]

    @property
    def stateful_metric_names(self):
        return [m.name for m in self.metrics]

    @property
    def run_eagerly(self):
        return False

    def reset_metrics(self):
        """Begins the metrics anew."""
        pairs = [(v, np.zeros(v.shape.as_list())) for m in self.metrics for v in m.variables]
        K.batch_set_value(pairs)

    # Data.

    def _set_inputs(self, inputs, outputs=None):
        """Takes over what a subclass was first called with."""
        if self._is_graph_network or self.inputs is not None:
            return
        if not base_layer_utils.have_all_keras_metadata(inputs) and any(
            not K.is_placeholder(x) for x in nest.flatten(inputs) if isinstance(x, ops.Tensor)
        ):
            return
        if outputs is None:
            return
        flat = nest.flatten(inputs)
        self.inputs = self._feed_inputs = flat
        self.input_names = self._feed_input_names = (
            list(inputs) if isinstance(inputs, dict) else [f"input_{i + 1}" for i in range(len(flat))]
        )
        self.outputs = nest.flatten(outputs)
        self.output_names = [f"output_{i + 1}" for i in range(len(self.outputs))]
        self._nested_inputs, self._nested_outputs = inputs, outputs

    def _ensure_inputs(self, x):
        """Builds a model that waits for its first data."""
        if self.inputs is not None:
            return
        first = x
        if isinstance(x, (list, tuple)):
            first = [np.asarray(a) if not hasattr(a, "shape") else a for a in x]
            if len(first) and not all(hasattr(a, "shape") and len(a.shape) for a in first):
                first = np.asarray(x)
        elif isinstance(x, dict):
            first = {k: np.asarray(v) for k, v in sorted(x.items())}
        else:
            first = np.asarray(x) if not hasattr(x, "shape") else x
        if hasattr(self, "_set_inputs_of_data"):
            self._set_inputs_of_data(first)
            return

        def make(a):
            a = training_utils._as_array(a)
            kind = np.dtype(a.dtype.name if hasattr(a.dtype, "name") else a.dtype).kind
            dtype = K.floatx() if kind == "f" else a.dtype
            return K.placeholder(shape=(None,) + tuple(a.shape[1:]), dtype=dtype)

        if isinstance(first, dict):
            inputs = {k: make(a) for k, a in first.items()}
        elif isinstance(first, list):
            inputs = [make(a) for a in first]
        else:
            inputs = make(first)
        self.inputs = None
        kwargs = {}
        if self._expects_training_arg:
            kwargs["training"] = K.learning_phase()
        outputs = self(inputs, **kwargs)
        if self.inputs is None:
            self._set_inputs(inputs, outputs)

    def _ready(self, x, compiled=True):
        if compiled and not self._is_compiled:
            raise RuntimeError(
                "You must compile your model before training/testing. Use `model.compile(optimizer, "
                "loss)`."
            )
        if not (
            training_utils.is_dataset(x) or training_utils.is_iterator(x) or training_utils.is_generator(x)
        ):
            if x is not None:
                self._ensure_inputs(x)
        elif self.inputs is None:
            if isinstance(x, training_utils.data_utils.Sequence):
                self._ensure_inputs(x[0][0])
            else:
                raise ValueError(
                    f"Model {self.name} has no inputs yet: call build(input_shape), or give its first layer "
                    "an input_shape, before it is fit to a dataset or a generator"
                )
        if compiled and self._endpoints is None:
            self._compile_outputs()

    def _arrays(self, x, y, sample_weight=None, class_weight=None, need_y=True):
        """(inputs, targets, weights or None) as lists of arrays, after checks."""
        inputs = training_utils.standardize(x, self._feed_input_names, "input")
        # One dimension is added to vectors, unless the input is one.
        inputs = [
            a[:, 0] if hasattr(a, "ndim") and a.ndim == 2 and a.shape[1] == 1 and K.ndim(t) == 1 else a
            for a, t in zip(inputs, self._feed_inputs)
        ]
        training_utils.check_shapes(inputs, self._feed_input_names, self._feed_inputs, "input")
        if not need_y:
            return inputs, [], None
        feeds = [e for e in self._endpoints if e.is_fed]
        names = [e.name for e in feeds]
        targets = training_utils.standardize(y, names, "target")
        for i, (e, a) in enumerate(zip(feeds, targets)):
            if a is None:
                raise ValueError(f"Model {self.name}: no target is given for the output {e.name}")
            if self._is_graph_network:  # the outputs of another are what `call` says
                e.check_target(a)
            if hasattr(a, "ndim") and a.ndim == K.ndim(e.target) - 1:
                a = np.expand_dims(a, -1)  # ids in place of classes
            targets[i] = a
        given = training_utils.by_output(sample_weight, names, "sample_weight") if names else []
        if isinstance(sample_weight, np.ndarray) or (
            isinstance(sample_weight, (list, tuple)) and len(names) == 1 and len(sample_weight) != 1
        ):
            given = [np.asarray(sample_weight)] * len(names)
        classes = class_weight
        if isinstance(class_weight, dict) and class_weight and set(class_weight) <= set(self.output_names):
            classes = [class_weight.get(name) for name in names]
        elif isinstance(class_weight, (list, tuple)):
            classes = list(class_weight)
        else:
            classes = [class_weight] * len(names)
        weights = [training_utils.standardize_weights(t, w, c) for t, w, c in zip(targets, given, classes)]
        if all(w is None for w in weights):
            return inputs, targets, None
        return (
            inputs,
            targets,
            [np.ones(len(t), K.floatx()) if w is None else w for w, t in zip(weights, targets)],
        )

    # Functions of a batch.

    @property
    def _collected_trainable_weights(self):
        return self.trainable_weights

    def _function(self, kind, weighted):
        """The function for "train", "test" or "predict"."""
        if kind != "predict" and weighted and not self._weighted:
            with self.outputs[0].graph.as_default():
                self._build_total_loss(weighted=True)
        key = (kind, tuple(id(w) for w in self.trainable_weights) if kind == "train" else ())
        if key not in self._functions:
            with self.outputs[0].graph.as_default():
                self._functions[key] = getattr(self, f"_make_{kind}")()
        return self._functions[key]

    def _feeds(self):
        feeds = list(self._feed_inputs) + [e.target for e in self._endpoints if e.is_fed]
        if self._weighted:
            feeds += [e.weight for e in self._endpoints if e.is_fed]
        return feeds

    def _phase(self):
        """The learning phase, if it can be fed."""
        phase = K.symbolic_learning_phase()
        return [] if isinstance(phase, int) else [phase]

    def _make_train(self):
        with K.name_scope("training"):
            with K.name_scope(type(self.optimizer).__name__):
                updates = self.optimizer.get_updates(
                    loss=self.total_loss, params=self._collected_trainable_weights
                )
        if getattr(self, "_loaded", None) is not None:  # load_weights came before the slots
            self._loaded.restore_new_objects(K.get_session())
        updates = list(updates) + self._layer_updates()
        self.train_function = K.function(
            self._feeds() + self._phase(),
            [self.total_loss] + self._metric_tensors,
            updates=updates,
            name="train_function",
            **self._run_kwargs,
        )
        return self.train_function

    def _layer_updates(self):
        mine = {id(u) for m in self._metric_objects for u in m._updates}
        updates = self.get_updates_for(None) + self.get_updates_for(self.inputs)
        return [u for u in base_layer._unique(updates) if id(u) not in mine]

    def _make_test(self):
        self.test_function = K.function(
            self._feeds() + self._phase(),
            [self.total_loss] + self._metric_tensors,
            updates=self.state_updates,
            name="test_function",
            **self._run_kwargs,
        )
        return self.test_function

    def _make_predict(self):
        self.predict_function = K.function(
            list(self._feed_inputs) + self._phase(),
            list(self.outputs),
            updates=self.state_updates,
            name="predict_function",
        )
        return self.predict_function

    def _run(self, kind, inputs, targets=(), weights=None):
        if kind == "predict":
            function = self._predict_fn()
            return function(list(inputs) + [False] * len(self._phase()))
        function = self._function(kind, weights is not None)
        values = list(inputs) + list(targets)
        if self._weighted:
            if weights is None:
                weights = [np.ones(len(t), K.floatx()) for t in targets]
            values += list(weights)
        return list(function(values + [kind == "train"] * len(self._phase())))

    def _predict_fn(self):
        functions = self.__dict__.setdefault("_functions", {})
        if ("predict",) not in functions:
            with self.outputs[0].graph.as_default():
                functions["predict",] = self._make_predict()
        return functions["predict",]

    # Loops.

    def fit(
        self,
        x=None,
        y=None,
        batch_size=None,
        epochs=1,
        verbose=1,
        callbacks=None,
        validation_split=0.0,
        validation_data=None,
        shuffle=True,
        class_weight=None,
        sample_weight=None,
        initial_epoch=0,
        steps_per_epoch=None,
        validation_steps=None,
        validation_freq=1,
        max_queue_size=10,
        workers=1,
        use_multiprocessing=False,
        **kwargs,
    ):
        """Trains for some epochs. Returns a History.

        x, y: arrays, lists of them, or dicts by names; or x is a Dataset, a Sequence or a generator of (x, y)
        or (x, y, weights). batch_size: 32 if None. validation_split: the part of the arrays' end to validate
        on. validation_data: (x, y) or (x, y, weights), a Dataset or a Sequence. steps_per_epoch: for data
        without an end. max_queue_size, workers, use_multiprocessing: of TensorFlow; batches of generators are
        taken in this thread.
        """
        if "nb_epoch" in kwargs:
            epochs = kwargs.pop("nb_epoch")
        if kwargs:
            raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
        del max_queue_size, workers, use_multiprocessing
        from braid.tensorflow.python.keras import callbacks as cbks

        self._ready(x)
        validation = None
        if validation_data is not None and not isinstance(validation_data, (list, tuple)):
            validation = (validation_data, None, None)
        elif validation_data:
            if len(validation_data) not in (2, 3):
                raise ValueError(
                    "When passing a `validation_data` argument, it must contain either 2 items (x_val, "
                    "y_val), or 3 items (x_val, y_val, val_sample_weights). "
                    f"However we received `validation_data={validation_data}`"
                )
            validation = tuple(validation_data) + (None,) * (3 - len(validation_data))
        elif validation_split and 0.0 < validation_split < 1.0:
            inputs, targets, weights = self._arrays(x, y, sample_weight, class_weight)
            at = int(len(inputs[0]) * (1.0 - validation_split))
            part = lambda arrays, s: None if arrays is None else [a[s] for a in arrays]  # noqa: E731
            head, tail = slice(0, at), slice(at, None)
            validation = (part(inputs, tail), part(targets, tail), part(weights, tail))
            x, y, sample_weight = part(inputs, head), part(targets, head), part(weights, head)
            class_weight = None
        batches = training_utils.Batches(
            self, x, y, sample_weight, batch_size, steps_per_epoch, shuffle, class_weight, "train"
        )
        if validation is not None:
            validation = training_utils.Batches(
                self, *validation, batch_size, validation_steps, False, None, "test"
            )
        names = self.metrics_names
        labels = names + ["val_" + n for n in names] if validation is not None else names
        by_samples = batches.of_arrays() and steps_per_epoch is None
        callbacks = cbks.configure_callbacks(
            callbacks,
            self,
            do_validation=validation is not None,
            batch_size=batches._batch_size if batches.of_arrays() else None,
            epochs=epochs,
            steps_per_epoch=None if by_samples else batches.steps,
            samples=batches.samples,
            verbose=verbose,
            count_mode="samples" if by_samples else "steps",
            metric_labels=labels,
        )
        if by_samples and verbose:
            note = f"Train on {batches.samples} samples"
            if validation is not None and validation.of_arrays():
                note += f", validate on {validation.samples} samples"
            print(note)
        self.stop_training = False
        callbacks.on_train_begin()
        for epoch in range(initial_epoch, epochs):
            callbacks.on_epoch_begin(epoch, {})
            self.reset_metrics()
            logs = dict(zip(names, self._epoch("train", batches, callbacks)))
            if validation is not None and _validates(epoch, validation_freq):
                self.reset_metrics()
                values = self._epoch("test", validation, None)
                logs.update(zip(("val_" + n for n in names), values))
            callbacks.on_epoch_end(epoch, logs)
            if self.stop_training or batches.exhausted:
                break
        callbacks.on_train_end()
        return self.history

    def _epoch(self, kind, batches, callbacks):
        """Runs all batches. Returns the mean loss and the metrics."""
        total, weight, last = 0.0, 0, None
        hook = {"train": "train", "test": "test"}[kind]
        for i, (inputs, targets, weights, count) in enumerate(batches):
            if callbacks is not None:
                callbacks._call_batch_hook(hook, "begin", i, {"batch": i, "size": count})
            last = self._run(kind, inputs, targets, weights)
            share = count if batches.of_arrays() else 1
            total, weight = total + last[0] * share, weight + share
            if callbacks is not None:
                logs = {"batch": i, "size": count}
                logs.update(zip(self.metrics_names, last))
                callbacks._call_batch_hook(hook, "end", i, logs)
                if kind == "train" and self.stop_training:
                    break
        if last is None:
            raise ValueError("Empty training data." if kind == "train" else "Empty data.")
        return [total / weight] + list(last[1:])

    def evaluate(
        self,
        x=None,
        y=None,
        batch_size=None,
        verbose=1,
        sample_weight=None,
        steps=None,
        callbacks=None,
        max_queue_size=10,
        workers=1,
        use_multiprocessing=False,
    ):
        """The loss and the metrics over data, as a list; the loss alone if there are no metrics. See fit."""
        del max_queue_size, workers, use_multiprocessing
        from braid.tensorflow.python.keras import callbacks as cbks

        self._ready(x)
        batches = training_utils.Batches(self, x, y, sample_weight, batch_size, steps, False, None, "test")
        callbacks = cbks.configure_callbacks(
            callbacks,
            self,
            batch_size=batches._batch_size if batches.of_arrays() else None,
            epochs=1,
            steps_per_epoch=None if batches.of_arrays() else batches.steps,
            samples=batches.samples,
            verbose=verbose,
            count_mode="samples" if batches.of_arrays() else "steps",
            mode="test",
        )
        self.reset_metrics()
        callbacks._call_begin_hook("test")
        values = self._epoch("test", batches, callbacks)
        callbacks._call_end_hook("test")
        return values[0] if len(values) == 1 else values

    def predict(
        self,
        x,
        batch_size=None,
        verbose=0,
        steps=None,
        callbacks=None,
        max_queue_size=10,
        workers=1,
        use_multiprocessing=False,
    ):
        """The outputs for data: an array, or a list of them. See fit."""
        del max_queue_size, workers, use_multiprocessing
        from braid.tensorflow.python.keras import callbacks as cbks

        self._ready(x, compiled=False)
        data = _Predictable(self)
        batches = training_utils.Batches(data, x, None, None, batch_size, steps, False, None, "predict")
        callbacks = cbks.configure_callbacks(
            callbacks,
            self,
            batch_size=batches._batch_size if batches.of_arrays() else None,
            epochs=1,
            steps_per_epoch=None if batches.of_arrays() else batches.steps,
            samples=batches.samples,
            verbose=verbose,
            count_mode="samples" if batches.of_arrays() else "steps",
            mode="predict",
        )
        callbacks._call_begin_hook("predict")
        parts = []
        for i, (inputs, _, _, count) in enumerate(batches):
            callbacks._call_batch_hook("predict", "begin", i, {"batch": i, "size": count})
            parts.append(self._run("predict", inputs))
            callbacks._call_batch_hook("predict", "end", i, {"batch": i, "size": count, "outputs": parts[-1]})
        callbacks._call_end_hook("predict")
        outputs = [_joined([p[i] for p in parts]) for i in range(len(self.outputs))]
        return outputs[0] if len(outputs) == 1 else outputs

    def train_on_batch(self, x, y=None, sample_weight=None, class_weight=None, reset_metrics=True):
        """Makes one step. Returns the loss, or a list of loss and metrics."""
        return self._on_batch("train", x, y, sample_weight, class_weight, reset_metrics)

    def test_on_batch(self, x, y=None, sample_weight=None, reset_metrics=True):
        """The loss of a batch, or a list of loss and metrics."""
        return self._on_batch("test", x, y, sample_weight, None, reset_metrics)

    def _on_batch(self, kind, x, y, sample_weight, class_weight, reset_metrics):
        self._ready(x)
        if reset_metrics:
            self.reset_metrics()
        inputs, targets, weights = self._arrays(x, y, sample_weight, class_weight)
        values = self._run(kind, inputs, targets, weights)
        return values[0] if len(values) == 1 else values

    def predict_on_batch(self, x):
        """The outputs for a batch."""
        self._ready(x, compiled=False)
        inputs, _, _ = self._arrays(x, None, need_y=False)
        outputs = self._run("predict", inputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def fit_generator(
        self,
        generator,
        steps_per_epoch=None,
        epochs=1,
        verbose=1,
        callbacks=None,
        validation_data=None,
        validation_steps=None,
        validation_freq=1,
        class_weight=None,
        max_queue_size=10,
        workers=1,
        use_multiprocessing=False,
        shuffle=True,
        initial_epoch=0,
    ):
        """fit, for a generator."""
        return self.fit(
            generator,
            steps_per_epoch=steps_per_epoch,
            epochs=epochs,
            verbose=verbose,
            callbacks=callbacks,
            validation_data=validation_data,
            validation_steps=validation_steps,
            validation_freq=validation_freq,
            class_weight=class_weight,
            shuffle=shuffle,
            initial_epoch=initial_epoch,
        )

    def evaluate_generator(
        self,
        generator,
        steps=None,
        callbacks=None,
        max_queue_size=10,
        workers=1,
        use_multiprocessing=False,
        verbose=0,
    ):
        """evaluate, for a generator."""
        return self.evaluate(generator, steps=steps, callbacks=callbacks, verbose=verbose)

    def predict_generator(
        self,
        generator,
        steps=None,
        callbacks=None,
        max_queue_size=10,
        workers=1,
        use_multiprocessing=False,
        verbose=0,
    ):
        """predict, for a generator."""
        return self.predict(generator, steps=steps, callbacks=callbacks, verbose=verbose)


class _Predictable:
    """A model for batches without targets."""

    def __init__(self, model):
        self._model = model

    def _arrays(self, x, y=None, sample_weight=None, class_weight=None, need_y=False):
        return self._model._arrays(x, None, need_y=False)


class _Endpoint:
    """An output with its target, its loss and the weights of examples."""

    def __init__(self, name, output, loss, target):
        self.name, self.output, self.loss = name, output, loss
        self.weight = None
        self.target = target
        self.is_fed = False
        if loss is not None and target is None:
            self.target = K.placeholder(
                ndim=len(output.shape),
                name=name + "_target",
                sparse=K.is_sparse(output),
                dtype=K.dtype(output),
            )
            self.is_fed = True
        elif target is not None:
            self.is_fed = K.is_placeholder(target)

    def make_weight(self, temporal):
        """The placeholder of the weights, [batch], or [batch, steps]."""
        if self.weight is None:
            self.weight = K.placeholder(ndim=2 if temporal else 1, name=self.name + "_sample_weights")
        return self.weight

    def loss_value(self, mask, sample_weight):
        """The loss, by mask and weights."""
        if mask is not None:
            mask = math_ops.cast(mask, self.output.dtype)
            if sample_weight is None:
                sample_weight = mask
            else:
                mask, _, sample_weight = losses_utils.squeeze_or_expand_dimensions(mask, None, sample_weight)
                sample_weight *= mask
        if not hasattr(self.loss, "reduction") or type(self.loss).__call__ is not losses_module.Loss.__call__:
            return self.loss(self.target, self.output, sample_weight=sample_weight)
        each = self.loss.call(self.target, self.output)
        weighted = losses_utils.compute_weighted_loss(
            each, sample_weight=sample_weight, reduction=losses_utils.ReductionV2.NONE
        )
        reduction = self.loss.reduction
        if reduction == losses_utils.ReductionV2.AUTO:
            reduction = losses_utils.ReductionV2.SUM_OVER_BATCH_SIZE
        return losses_utils.reduce_weighted_loss(weighted, reduction=reduction)

    def check_target(self, array):
        """ValueError where the target's shape cannot be that of the output."""
        if not hasattr(array, "shape") or isinstance(array, ops.Tensor):
            return
        want, got = K.int_shape(self.output), tuple(array.shape)
        fn = getattr(self.loss, "fn", None)
        if fn is losses_module.sparse_categorical_crossentropy:
            want = want[:-1] + (1,)
            if len(got) == len(want) - 1:
                return
        elif not (
            isinstance(self.loss, losses_module.LossFunctionWrapper)
            and hasattr(fn, "__module__")
            and fn.__module__ == losses_module.__name__
        ):
            return  # only the loss of the program's own knows
        if len(want) != len(got):
            raise ValueError(
                f"Error when checking target: expected {self.name} to have {len(want)} dimensions, but got "
                f"array with shape {got}"
            )
        for w, g in zip(want[1:], got[1:]):
            if w is not None and w != g:
                raise ValueError(
                    f"Error when checking target: expected {self.name} to have shape {want[1:]} but got "
                    f"array with shape {got[1:]}"
                )


def _call_metric(obj, endpoint, mask, sample_weight):
    if mask is not None:
        mask = math_ops.cast(mask, endpoint.output.dtype)
        if sample_weight is None:
            sample_weight = mask
        else:
            mask, _, sample_weight = losses_utils.squeeze_or_expand_dimensions(mask, None, sample_weight)
            sample_weight *= mask
    return obj(endpoint.target, endpoint.output, sample_weight=sample_weight)


def _tensor_of(model, metric):
    """The tensor of a metric that add_metric has added."""
    for layer in [model] + list(model.submodules):
        for own in getattr(layer, "_metrics", []):
            if own is metric:
                return layer._metrics_tensors.get(metric.name)
    return None


def _unique(name, taken):
    base, number = name, 1
    while name in taken:
        name = f"{base}_{number}"
        number += 1
    return name


def _joined(parts):
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=0)


def _validates(epoch, validation_freq):
    one_based = epoch + 1
    if isinstance(validation_freq, int):
        if validation_freq < 1:
            raise ValueError("`validation_freq` can not be less than 1.")
        return one_based % validation_freq == 0
    return one_based in validation_freq
