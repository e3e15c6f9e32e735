"""Model: a network that is trained, evaluated and used on arrays, datasets and generators.

compile() builds targets, losses and metrics on the model's outputs. The functions for training, evaluation
and prediction are made at their first use; each runs one batch in Keras' session.
"""

import contextlib
import inspect
import itertools

import numpy as np

from braid.tensorflow.python.distribute import distribution_strategy_context
from braid.tensorflow.python.distribute import reduce_util as distribution_reduce
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras import losses as losses_module
from braid.tensorflow.python.keras import metrics as metrics_module
from braid.tensorflow.python.keras import optimizers
from braid.tensorflow.python.keras.engine import base_layer
from braid.tensorflow.python.keras.engine import base_layer_utils
from braid.tensorflow.python.keras.engine import batch_values
from braid.tensorflow.python.keras.engine import training_utils
from braid.tensorflow.python.keras.engine.network import Network
from braid.tensorflow.python.keras.utils import losses_utils
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.training.tracking import base as trackable
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.models.Model", "keras.Model")
class Model(Network):
    """Layers from `inputs` to `outputs`, or a subclass that defines call(). See compile and fit."""

    _object_identifier = "_tf_keras_model"

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
        strategy = distribution_strategy_context.get_strategy()
        across = distribution_strategy_context.in_cross_replica_context()
        self._strategy = strategy if strategy.num_replicas_in_sync > 1 and across else None
        if across:
            strategy._serve()
        if self._strategy is not None:
            if self._in_multi_worker_mode():
                self._check_variables()
            K._need_devices(strategy)
        self.run_eagerly = kwargs.pop("run_eagerly", None)
        kwargs.pop("experimental_run_tf_function", None)
        kwargs.pop("cloning", None)
        if distribute is not None:
            raise NotImplementedError(
                "Model.compile(distribute=): use tf.estimator, or tf.train.replica_device_setter"
            )
        self._run_kwargs = {
            k: kwargs.pop(k) for k in ("options", "run_metadata", "feed_dict", "fetches") if k in kwargs
        }
        if kwargs:
            raise TypeError(f"Invalid keyword argument(s) in `compile`: {sorted(kwargs)}")
        if isinstance(optimizer, (list, tuple)):
            self.optimizer = [optimizers.get(o) for o in optimizer]
        else:
            self.optimizer = optimizers.get(optimizer)
        if isinstance(self.optimizer, trackable.Trackable):
            self._track_trackable(self.optimizer, name="optimizer", overwrite=True)
        self.loss = loss if loss is not None else {}
        self.loss_weights = loss_weights
        if isinstance(metrics, metrics_module.Metric) or not (
            metrics is None or isinstance(metrics, (list, tuple, dict))
        ):
            raise TypeError(
                f"Type of `metrics` argument not understood. Expected a list or dictionary, found: {metrics}"
            )
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

    def _in_multi_worker_mode(self):
        """Whether several processes train the model together."""
        strategy = getattr(self, "_strategy", None)
        return strategy is not None and strategy._in_multi_worker_mode()

    def _scope_of_workers(self):
        """The strategy's scope, in which what workers do together is built."""
        return self._strategy.scope() if self._in_multi_worker_mode() else contextlib.nullcontext()

    def _check_variables(self):
        """ValueError: a variable does not begin with the same value on all workers."""
        for v in self.weights:
            if not self._strategy.extended.variable_created_in_scope(v):
                raise ValueError(
                    f"Variable ({v}) was not created in the distribution strategy scope of ({self._strategy}). It "
                    "is most likely due to not all layers or the model or optimizer being created outside the "
                    "distribution strategy scope. Try to make sure your code looks similar to the following.\n"
                    "with strategy.scope():\n  model=_create_model()\n  model.compile(...)"
                )

    def _compile_outputs(self):
        with self._scope_of_workers():
            self._build_outputs()

    @trackable.no_automatic_dependency_tracking
    def _build_outputs(self):
        """Builds targets, losses and metrics. Weights of examples are added when they are first given."""
        names = self.output_names
        if isinstance(self.loss, dict) and self.loss:
            for name in names:
                if name not in self.loss:
                    logging.warning(
                        f"Output {name} missing from loss dictionary. We assume this was done on purpose. The fit "
                        f"and evaluate APIs will not be expecting any data to be passed to {name}."
                    )
        loss_list = training_utils.by_output(self.loss, names, "loss")
        self.loss_functions = [training_utils.get_loss_function(fn) for fn in loss_list]
        self._sample_weight_modes = training_utils.sample_weight_modes(self.sample_weight_mode, names)
        self._loss_weights_list = [
            1.0 if w is None else w
            for w in training_utils.by_output(self.loss_weights, names, "loss_weights")
        ]
        targets = self._target_tensors(self._given_targets, names)
        self._endpoints = []
        graph = self.outputs[0].graph
        with graph.as_default():
            for i, (name, output, fn) in enumerate(zip(names, self.outputs, self.loss_functions)):
                self._endpoints.append(_Endpoint(name, output, fn, targets[i]))
            self._prepare_metrics()
            with_loss = [e for e in self._endpoints if e.loss is not None]
            self._output_loss_metrics = [
                metrics_module.Mean(name=e.name + "_loss") if len(self._endpoints) > 1 else None
                for e in with_loss
            ]
            self._build_total_loss(weighted=False)
        # What is trained is settled here: `trainable` that is set later waits for the next compile.
        self._collected_trainable_weights = self.trainable_weights
        self._compiled_trainable = [(layer, layer._trainable) for layer in (self, *self.submodules)]

    @staticmethod
    def _target_tensors(given, names):
        """A list of the target of each output, None where it has to be fed."""
        if given is None or (isinstance(given, (list, tuple)) and not given):
            return [None] * len(names)
        if isinstance(given, dict):
            unknown = [name for name in given if name not in names]
            if unknown:
                raise ValueError(
                    f"Unknown entry in `target_tensors` dictionary: {unknown[0]}. Only expected the following "
                    f"keys: {names}"
                )
            return [given.get(name) for name in names]
        if isinstance(given, (list, tuple)):
            if len(given) != len(names):
                raise ValueError(
                    "When passing a list as `target_tensors`, it should have one entry per model output. The "
                    f"model has {len(names)} outputs, but you passed target_tensors={given}"
                )
            return list(given)
        if len(names) != 1:
            raise ValueError(
                f"The model has {len(names)} outputs, but you passed a single tensor as `target_tensors`. "
                "Expected a list or a dict of tensors."
            )
        return [given]

    def _prepare_metrics(self):
        """Makes the metrics' objects, and their names in results."""
        names = self.output_names
        self._metric_plan = []  # (endpoint, object, whether weighted), in the order of names
        taken = ["loss"]
        for given, weighted in ((self._compile_metrics, False), (self._compile_weighted_metrics, True)):
            lists = training_utils.metrics_of_outputs(given, names)
            for endpoint, metrics in zip(self._endpoints, lists):
                if endpoint.loss is None:
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
        share = self._share_of_loss()
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
                if getattr(endpoint.loss, "reduction", None) == losses_utils.ReductionV2.NONE:
                    value = losses_utils.reduce_weighted_loss(
                        value, losses_utils.ReductionV2.SUM_OVER_BATCH_SIZE
                    )
                if share is not None and not _is_sum(endpoint.loss):
                    value = value * math_ops.cast(share, value.dtype)
                value = weight * value
                total = value if total is None else total + value
            custom = self.get_losses_for(None) + self.get_losses_for(self.inputs)
            custom = base_layer._unique(custom)
            if total is None and not custom:
                raise ValueError("The model cannot be compiled because it has no loss to optimize.")
            if custom:
                extra = math_ops.add_n([math_ops.reduce_sum(math_ops.cast(c, K.floatx())) for c in custom])
                if share is not None:
                    extra = extra * math_ops.cast(share, extra.dtype)
                total = extra if total is None else total + extra
        self.total_loss = self._logged_loss = total
        if self._in_multi_worker_mode():
            self._logged_loss = self._strategy.extended.reduce_to(
                distribution_reduce.ReduceOp.SUM, total, None
            )
        with K.name_scope("metrics"):
            for endpoint, obj, use_weights in self._metric_plan:
                mask = getattr(endpoint.output, "_keras_mask", None)
                sample_weight = endpoint.weight if use_weights and weighted else None
                with K.name_scope(obj.name):
                    value = _call_metric(obj, endpoint, mask, sample_weight)
                self._metric_names.append(obj.name)
                self._metric_objects.append(obj)
                self._metric_tensors.append(value)
        for obj in self._added_metrics():
            tensor = _tensor_of(self, obj)
            if tensor is not None and obj not in self._metric_objects:
                self._metric_names.append(obj.name)
                self._metric_objects.append(obj)
                self._metric_tensors.append(tensor)

    def _share_of_loss(self):
        """What this process' mean over its batch is to be multiplied by, before replicas add up their losses.

        Workers have different parts of a batch, and different numbers of examples if it cannot be divided.
        None where nothing is added up. See _updates_of_replicas for the replicas of one process.
        """
        strategy = distribution_strategy_context.get_strategy()
        if self._in_multi_worker_mode():
            output = next((e.output for e in self._endpoints if e.loss is not None), self.outputs[0])
            size = math_ops.cast(K.shape(output)[0], K.floatx())
            whole = strategy.extended.reduce_to(distribution_reduce.ReduceOp.SUM, size, None)
            return array_ops.stop_gradient(math_ops.div_no_nan(size, whole))
        if strategy.num_replicas_in_sync == 1 or distribution_strategy_context.in_cross_replica_context():
            return None
        # In the replica of an Estimator, whose loss an optimizer of tf.train does not divide once more.
        ops.get_default_graph()._last_loss_reduction = "weighted_sum"
        return 1.0 / strategy.num_replicas_in_sync

    def _temporal(self, endpoint):
        return self._sample_weight_modes[self.output_names.index(endpoint.name)] == "temporal"

    @property
    def metrics_names(self):
        """The names of the values that fit and evaluate give."""
        return ["loss"] + (list(self._metric_names) if getattr(self, "_endpoints", None) else [])

    @property
    def metrics(self):
        own = list(self._metric_objects) if getattr(self, "_endpoints", None) else []
        return own + [m for m in self._added_metrics() if not any(m is o for o in own)]

    def _added_metrics(self):
        """The metrics that add_metric has added, those of layers before the model's own."""
        inner = [
            m
            for layer in self._nested()
            for m in (layer._added_metrics() if isinstance(layer, Model) else layer.metrics)
        ]
        return base_layer._unique(inner + list(self._metrics))

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
        """False: Braid has no eager execution."""
        return False

    @run_eagerly.setter
    def run_eagerly(self, value):
        if value:
            raise NotImplementedError("Model.run_eagerly: Braid has no eager execution")

    def reset_metrics(self):
        """Begins the metrics anew."""
        pairs = [(v, np.zeros(v.shape.as_list())) for m in self.metrics for v in m.variables]
        K.batch_set_value(pairs)

    # Data.

    def _set_inputs(self, inputs, outputs=None):
        """Takes over what a subclass was first called with, or calls it on placeholders for arrays.

        inputs: tensors, arrays, TensorSpecs or a list or dict of them.
        """
        if self._is_graph_network or self.inputs:
            return
        flat = nest.flatten(inputs)
        names = sorted(inputs) if isinstance(inputs, dict) else [f"input_{i + 1}" for i in range(len(flat))]
        if outputs is not None:
            if not base_layer_utils.have_all_keras_metadata(inputs) and not all(
                K.is_placeholder(x) for x in flat if isinstance(x, ops.Tensor)
            ):
                return
        else:
            with K.get_graph().as_default():
                made = [_symbolic(x, name) for x, name in zip(flat, names)]
                if isinstance(inputs, dict):
                    inputs = dict(zip(names, made))
                elif isinstance(inputs, (list, tuple)):
                    inputs = list(made)
                else:
                    (inputs,) = made
                kwargs = {}
                if self._expects_training_arg:
                    kwargs["training"] = K.learning_phase()
                self._self_building = True
                try:
                    outputs = self(inputs, **kwargs)
                finally:
                    self._self_building = False
        self.inputs = nest.flatten(inputs)
        self.input_names = names
        fed = [(x, name) for x, name in zip(self.inputs, names) if K.is_placeholder(x)]
        self._feed_inputs, self._feed_input_names = [x for x, _ in fed], [name for _, name in fed]
        self.outputs = nest.flatten(outputs)
        self.output_names = [f"output_{i + 1}" for i in range(len(self.outputs))]
        self._nested_inputs, self._nested_outputs = inputs, outputs

    def _ensure_inputs(self, x):
        """Builds a model that waits for its first data."""
        if self.inputs:
            return
        if isinstance(x, (list, tuple)) and not all(hasattr(a, "shape") for a in x):
            x = np.asarray(x) if not any(hasattr(a, "shape") for a in x) else [np.asarray(a) for a in x]
        elif not isinstance(x, (list, tuple, dict)) and not hasattr(x, "shape"):
            x = training_utils._as_array(x)
        for a in nest.flatten(x):
            if batch_values.is_composite(a):
                raise ValueError(
                    "All SparseTensor and RaggedTensor inputs must be explicitly declared using a keras.Input() "
                    f"with sparse=True or ragged=True. We found an undeclared input {a}. For Sequential models, "
                    "please add a keras.Input() as your first Layer."
                )
        self._set_inputs(nest.map_structure(training_utils._as_array, x))

    def _check_call_args(self, method):
        """ValueError: `call` needs more arguments than the inputs and `training`."""
        parameters = list(inspect.signature(self.call).parameters.values())[1:]
        more = [
            p.name
            for p in parameters
            if p.default is p.empty and p.kind == p.POSITIONAL_OR_KEYWORD and p.name != "training"
        ]
        if more:
            raise ValueError(
                f"Models passed to `{method}` can only have `training` and the first argument in `call` as "
                f"positional arguments, found: {more}."
            )

    def _ready(self, x, compiled=True, y=None):
        """Builds what waits for data. Returns the data: another generator if its first batch was taken.

        y: labels, which are built upon if they are tensors.
        """
        if compiled and not self._is_compiled:
            raise RuntimeError(
                "You must compile your model before training/testing. Use `model.compile(optimizer, "
                "loss)`."
            )
        if not self.inputs and x is not None:
            if training_utils.is_dataset(x) or training_utils.is_iterator(x):
                first = training_utils.element_spec(x)
                self._ensure_inputs(first[0] if isinstance(first, tuple) else first)
            elif isinstance(x, training_utils.data_utils.Sequence):
                first = x[0]
                self._ensure_inputs(first[0] if isinstance(first, tuple) else first)
            elif training_utils.is_generator(x):
                first = next(x)
                x = itertools.chain([first], x)
                self._ensure_inputs(first[0] if isinstance(first, tuple) else first)
            else:
                self._ensure_inputs(x)
        if compiled and self._endpoints is None:
            labels = nest.flatten(y)
            if self._given_targets is None and all(isinstance(t, ops.Tensor) for t in labels):
                self._given_targets = labels
            self._compile_outputs()
        return x

    def _check_batch_size(self, batch_size, steps, x):
        """The size of batches, which the first layer may say. ValueError: another was asked for."""
        if training_utils.is_dataset(x) or training_utils.is_generator(x):
            if batch_size is not None and not training_utils.is_iterator(x):
                raise ValueError(
                    "The `batch_size` argument must not be specified for the given input type. Received "
                    f"input: {x}, batch_size: {batch_size}"
                )
        fixed = None
        layers = self._nested()
        if layers and getattr(layers[0], "_batch_input_shape", None):
            fixed = layers[0]._batch_input_shape[0]
        if fixed is None:
            return batch_size
        if batch_size is not None and batch_size != fixed:
            raise ValueError(
                f"The `batch_size` argument value {batch_size} is incompatible with the specified batch size "
                f"of your Input Layer: {fixed}"
            )
        if training_utils.is_dataset(x) or training_utils.is_iterator(x):
            shape = nest.flatten(training_utils.element_spec(x))[0].shape
            if shape.ndims and shape[0].value is not None and shape[0].value != fixed:
                raise ValueError(
                    f"The batch output shape of your `Dataset` is {shape[0].value}, which is incompatible with "
                    f"the specified batch size of your Input Layer: {fixed}"
                )
            return batch_size
        if steps is None and not training_utils.is_generator(x):
            return fixed
        return batch_size

    def _standardize_user_data(
        self, x, y=None, sample_weight=None, class_weight=None, batch_size=None, checked=True
    ):
        """(inputs, targets, weights or None) as lists of arrays, after checks.

        checked: whether targets are compared with the outputs, too.
        """
        self._ready(x, compiled=y is not None)
        shapes = [K.int_shape(t) for t in self._feed_inputs] if self._is_graph_network else None
        names, tensors = self._feed_input_names, self._feed_inputs
        if isinstance(x, (list, tuple)) and len(x) == len(self.inputs) != len(tensors):
            x = [a for a, t in zip(x, self.inputs) if any(t is f for f in tensors)]
        inputs = training_utils.standardize_input_data(
            x, names, shapes, check_batch_axis=False, exception_prefix="input"
        )
        # A vector of examples is no matrix where the input has no other axis.
        inputs = [
            a[:, 0] if isinstance(a, np.ndarray) and a.ndim == 2 and a.shape[1] == 1 and K.ndim(t) == 1 else a
            for a, t in zip(inputs, tensors)
        ]
        inputs = [_dense_if(a, t) for a, t in zip(inputs, tensors)]
        if not self._is_compiled or (y is None and not any(e.is_fed for e in self._endpoints or ())):
            return inputs, [], None
        if y is None:
            return inputs, [], None
        feeds = [e for e in self._endpoints if e.is_fed]
        names = [e.name for e in feeds]
        targets = training_utils.standardize_input_data(y, names, exception_prefix="target")
        targets = [_dense_if(a, e.target) for a, e in zip(targets, feeds)]
        for e, a in zip(feeds, targets):
            if a is None:
                raise ValueError(f"Model {self.name}: no target is given for the output {e.name}")
        modes = [self._sample_weight_modes[self.output_names.index(name)] for name in names]
        given = training_utils.standardize_sample_weights(sample_weight, names)
        classes = training_utils.standardize_class_weights(class_weight, names)
        weights = [
            training_utils.standardize_weights(*values) for values in zip(targets, given, classes, modes)
        ]
        training_utils.check_array_lengths(inputs, targets, weights)
        if checked and self._is_graph_network:
            training_utils.check_loss_and_target_compatibility(
                targets, [e.loss for e in feeds], [e.feed_shape() for e in feeds]
            )
        targets = [
            np.expand_dims(a, -1) if isinstance(a, np.ndarray) and a.ndim + 1 == K.ndim(e.target) else a
            for e, a in zip(feeds, targets)
        ]  # ids in place of classes
        if all(w is None for w in weights) and not any(modes):
            return inputs, targets, None
        ones = lambda t, mode: np.ones(t.shape[: 2 if mode == "temporal" else 1], K.floatx())  # noqa: E731
        weights = [ones(t, m) if w is None else w for w, t, m in zip(weights, targets, modes)]
        return inputs, targets, weights

    # Functions of a batch.

    def _function(self, kind, weighted):
        """The function for "train", "test" or "predict"."""
        if kind != "predict" and weighted and not self._weighted:
            with self.outputs[0].graph.as_default(), self._scope_of_workers():
                self._build_total_loss(weighted=True)
        if kind == "train" and len(self._collected_trainable_weights) != len(self.trainable_weights):
            logging.log_first_n(
                logging.WARN,
                "Discrepancy between trainable weights and collected trainable weights, did you set "
                "`model.trainable` without calling `model.compile` after ?",
                1,
            )
        if kind not in self._functions:
            with self.outputs[0].graph.as_default(), self._scope_of_workers():
                self._functions[kind] = getattr(self, f"_make_{kind}")()
        return self._functions[kind]

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
            updates = self._train_updates()
        if getattr(self, "_loaded", None) is not None:  # load_weights came before the slots
            self._loaded.restore_new_objects(K.get_session())
        updates = list(updates) + self._layer_updates()
        with K.name_scope("training"):
            self.train_function = K.function(
                self._feeds() + self._phase(),
                [self._logged_loss] + self._metric_tensors,
                updates=updates,
                name="train_function",
                **self._run_kwargs,
            )
        return self.train_function

    def _train_updates(self):
        """The ops that make a step."""
        if self._strategy is not None and not self._in_multi_worker_mode():
            with self._strategy.scope():
                return self._updates_of_replicas()
        args = self.total_loss, self._collected_trainable_weights
        if self._strategy is None:
            return self.optimizer.get_updates(*args)
        return self._strategy.extended.call_for_each_replica(self.optimizer.get_updates, args)

    def _updates_of_replicas(self):
        """The ops that make a step of replicas, each of which has a part of the batch.

        What is logged, the loss and the metrics, is computed on the first device from the whole batch.
        """
        count = self._strategy.num_replicas_in_sync
        endpoints = [(e, w) for e, w in zip(self._endpoints, self._loss_weights_list) if e.loss is not None]
        whole = [list(self.inputs), [e.target for e, _ in endpoints]]
        whole.append([e.weight for e, _ in endpoints] if self._weighted else [])
        size = array_ops.shape(self.inputs[0])[0]
        params = self._collected_trainable_weights
        before = {id(u) for u in self.updates}
        tf_optimizer = isinstance(self.optimizer, optimizers.TFOptimizer)
        numbers = iter(range(count))

        def step():
            number = next(numbers)
            start, end = size * number // count, size * (number + 1) // count
            inputs, targets, weights = [[t[start:end] for t in ts] for ts in whole]
            for t, own in zip(inputs + targets, whole[0] + whole[1]):
                t.set_shape([None] + own.shape.as_list()[1:])
            share = math_ops.cast(end - start, K.floatx()) / math_ops.cast(size, K.floatx())
            kwargs = {"training": K.learning_phase()} if self._expects_training_arg else {}
            outputs = self(nest.pack_sequence_as(self._nested_inputs, inputs), **kwargs)
            outputs = dict(zip(map(id, self._endpoints), nest.flatten(outputs)))
            total = 0.0
            for i, (endpoint, factor) in enumerate(endpoints):
                output = outputs[id(endpoint)]
                mask = getattr(output, "_keras_mask", None)
                value = endpoint.loss_value(mask, weights[i] if weights else None, targets[i], output)
                reduction = getattr(endpoint.loss, "reduction", None)
                if reduction == losses_utils.ReductionV2.NONE:
                    value = losses_utils.reduce_weighted_loss(
                        value, losses_utils.ReductionV2.SUM_OVER_BATCH_SIZE
                    )
                if not _is_sum(endpoint.loss):
                    value = value * math_ops.cast(share, value.dtype)
                total = total + factor * value
            for loss in self.get_losses_for(inputs):
                total = total + math_ops.cast(share, loss.dtype) * math_ops.reduce_sum(loss)
            for loss in self.get_losses_for(None) if number == 0 else ():  # of weights: once
                total = total + math_ops.reduce_sum(loss)
            if tf_optimizer:
                return self.optimizer.get_updates(total, params)
            return self.optimizer.get_gradients(total, params, some=True)

        results = self._strategy.extended.call_for_each_replica(step)
        self._replica_updates = [u for u in self.updates if id(u) not in before]
        if tf_optimizer:
            return [self._strategy.group(results)]
        reduced = self._strategy.extended.batch_reduce_to(
            distribution_reduce.ReduceOp.SUM, [(g, v) for g, v in zip(results, params)]
        )
        return [self.optimizer.apply_across_replicas(self._strategy, list(zip(reduced, params)))]

    def _layer_updates(self):
        if self._strategy is not None and not self._in_multi_worker_mode():
            return list(self._replica_updates)
        mine = {id(u) for m in self._metric_objects for u in m._updates}
        now = [(layer, layer._trainable) for layer, _ in self._compiled_trainable]
        try:
            for layer, value in self._compiled_trainable:
                layer._trainable = value
            updates = self.get_updates_for(None) + self.get_updates_for(self.inputs)
        finally:
            for layer, value in now:
                layer._trainable = value
        return [u for u in base_layer._unique(updates) if id(u) not in mine]

    def _make_test(self):
        with K.name_scope("evaluation"):
            self.test_function = K.function(
                self._feeds() + self._phase(),
                [self._logged_loss] + self._metric_tensors,
                updates=self.state_updates,
                name="test_function",
                **self._run_kwargs,
            )
        return self.test_function

    def _make_predict(self):
        with K.name_scope("predict"):
            self.predict_function = K.function(
                list(self._feed_inputs) + self._phase(),
                list(self.outputs),
                updates=self.state_updates,
                name="predict_function",
            )
        return self.predict_function

    def _run(self, kind, inputs, targets=(), weights=None):
        if kind == "predict":
            function, values = self._predict_fn(), list(inputs)
        else:
            function = self._function(kind, weights is not None)
            values = list(inputs) + list(targets)
            if self._weighted:
                if weights is None:
                    weights = self._all_ones(targets)
                values += list(weights)
        symbolic = [i for i, v in enumerate(values) if training_utils.is_tensor(v)]
        if symbolic:  # what tensors of the program give is fed
            for i, value in zip(symbolic, K.get_session().run([values[i] for i in symbolic])):
                values[i] = value
        return list(function(values + [kind == "train"] * len(self._phase())))

    def _all_ones(self, targets):
        fed = [e for e in self._endpoints if e.is_fed]
        return [
            np.ones(np.shape(t)[: 2 if self._temporal(e) else 1], K.floatx()) for e, t in zip(fed, targets)
        ]

    def _predict_fn(self):
        functions = self.__dict__.setdefault("_functions", {})
        if "predict" not in functions:
            with self.outputs[0].graph.as_default():
                functions["predict"] = self._make_predict()
        return functions["predict"]

    # The names that programs know them by.

    def _make_train_function(self):
        self._function("train", False)

    def _make_test_function(self):
        self._function("test", False)

    def _make_predict_function(self):
        self._predict_fn()

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
        without an end. max_queue_size, workers: how many batches of generators are made ahead, by how many
        threads; in this thread if workers is 0.
        """
        self._check_call_args("fit")
        if "nb_epoch" in kwargs:
            epochs = kwargs.pop("nb_epoch")
        if kwargs:
            raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
        batch_size = self._check_batch_size(batch_size, steps_per_epoch, x)
        options = dict(
            max_queue_size=max_queue_size, workers=workers, use_multiprocessing=use_multiprocessing
        )
        x = self._ready(x, y=y)
        validation = None
        if validation_data is not None and not (
            isinstance(validation_data, (list, tuple)) and not len(validation_data)
        ):
            validation = _unpacked(validation_data)
        elif validation_split and 0.0 < validation_split < 1.0:
            if training_utils.is_dataset(x) or training_utils.is_iterator(x):
                raise ValueError(
                    "`validation_split` argument is not supported when input `x` is a dataset or a dataset "
                    f"iterator. Received: x={x}, validation_split={validation_split}"
                )
            if training_utils.is_generator(x):
                raise ValueError(
                    "If your data is in the form of a Python generator, you cannot use `validation_split`."
                )
            if any(training_utils.is_tensor(a) for a in nest.flatten(x)):
                raise ValueError(
                    "If your data is in the form of symbolic tensors, you cannot use `validation_split`."
                )
            inputs, targets, weights = self._standardize_user_data(x, y, sample_weight, class_weight)
            at = int(batch_values.shape_of(inputs[0])[0] * (1.0 - validation_split))
            part = lambda arrays, s: arrays and [batch_values.rows(a, s) for a in arrays]  # noqa: E731
            head, tail = slice(0, at), slice(at, None)
            validation = (part(inputs, tail), part(targets, tail), part(weights, tail))
            x, y, sample_weight = part(inputs, head), part(targets, head), part(weights, head)
            class_weight = None
        elif validation_steps:
            raise ValueError("`validation_steps` should not be specified if `validation_data` is None.")
        batches = training_utils.Batches(
            self,
            x,
            y,
            sample_weight,
            batch_size,
            steps_per_epoch,
            shuffle,
            class_weight,
            "train",
            steps_name="steps_per_epoch",
            epochs=epochs,
            **options,
        )
        if validation is not None:
            validation = training_utils.Batches(
                self,
                *validation,
                (batches._batch_size or 32) if validation_steps is None else None,
                validation_steps,
                True,  # as in TensorFlow, whose epochs take numpy's random numbers for both
                None,
                "test",
                steps_name="validation_steps",
                **options,
            )
        try:
            return self._fit(
                batches, validation, callbacks, verbose, range(initial_epoch, epochs), validation_freq
            )
        finally:
            batches.close()
            if validation is not None:
                validation.close()

    def _fit(self, batches, validation, callbacks, verbose, epochs, validation_freq):
        """Runs the epochs."""
        from braid.tensorflow.python.keras import callbacks as cbks

        by_samples = batches.of_arrays()
        if verbose and not training_utils.is_generator(batches._x):
            count, what = (batches.samples, "samples") if by_samples else (batches.steps, "steps")
            note = f"Train on {count} {what if by_samples or batches.is_dataset else 'samples'}"
            if validation is not None:
                number = validation.samples if validation.of_arrays() else validation.steps
                note += f", validate on {number} {'samples' if validation.of_arrays() else 'steps'}"
            print(note)
        callbacks, bar = cbks.configure_loop(
            callbacks,
            self,
            do_validation=validation is not None,
            batch_size=batches._batch_size,
            epochs=epochs.stop,
            steps=batches.steps if not by_samples else None,
            samples=batches.samples if by_samples else batches.steps,
            verbose=verbose,
            use_steps=not by_samples,
            mode="train",
        )
        model = callbacks.model
        model.stop_training = False
        callbacks._call_begin_hook("train")
        bar.on_train_begin()
        for epoch in epochs:
            if model.stop_training:
                break
            logs = {}
            self.reset_metrics()
            callbacks.on_epoch_begin(epoch, logs)
            bar.on_epoch_begin(epoch, logs)
            values = self._epoch("train", batches, callbacks, bar)
            logs.update(zip(self.metrics_names, values))
            if (
                validation is not None
                and training_utils.should_run_validation(validation_freq, epoch)
                and not model.stop_training
            ):
                self.reset_metrics()
                callbacks._call_begin_hook("test")
                values = self._epoch("test", validation, callbacks, None)
                callbacks._call_end_hook("test")
                logs.update(zip(["val_" + n for n in self.metrics_names], values))
            callbacks.on_epoch_end(epoch, logs)
            bar.on_epoch_end(epoch, logs)
        callbacks._call_end_hook("train")
        return self.history

    def _epoch(self, kind, batches, callbacks, bar):
        """Runs all batches. Returns the mean loss and the metrics; the outputs of each batch for "predict"."""
        total, count, last, outputs = 0.0, 0, None, []
        for i, (inputs, targets, weights, share, size) in enumerate(batches):
            logs = {"batch": i, "size": size}
            callbacks._call_batch_hook(kind, "begin", i, logs)
            if bar is not None:
                bar.on_batch_begin(i, logs)
            last = self._run(kind, inputs, targets, weights)
            if kind == "predict":
                for value in last if batches.of_arrays() else ():
                    shape = batch_values.shape_of(value)
                    if shape and shape[0] != size:
                        raise ValueError(
                            "Mismatch between expected batch size and model output batch size. Output shape = "
                            f"{shape}, expected output shape = shape {(size,) + shape[1:]}"
                        )
                outputs.append(last)
                logs["outputs"] = last
            else:
                total, count = total + last[0] * share, count + share
                logs.update(zip(self.metrics_names, last))
            callbacks._call_batch_hook(kind, "end", i, logs)
            if bar is not None:
                bar.on_batch_end(i, logs)
            if callbacks.model.stop_training:
                break
        if batches.exhausted:
            callbacks.model.stop_training = True
        if last is None:
            raise ValueError("Empty training data." if kind == "train" else "Empty data.")
        if batches.steps is None:  # the first pass over a dataset counts its batches
            batches.steps_seen = i + 1
            if bar is not None and kind == "train":
                bar.params["steps"] = bar.progbar.target = i + 1
        return outputs if kind == "predict" else [total / count] + list(last[1:])

    def _loop(self, kind, x, y, sample_weight, batch_size, steps, callbacks, verbose, options):
        """One pass over data for evaluate and predict."""
        from braid.tensorflow.python.keras import callbacks as cbks

        batch_size = self._check_batch_size(batch_size, steps, x)
        x = self._ready(x, compiled=kind != "predict")
        batches = training_utils.Batches(
            self, x, y, sample_weight, batch_size, steps, False, None, kind, **options
        )
        by_samples = batches.of_arrays()
        callbacks, bar = cbks.configure_loop(
            callbacks,
            self,
            batch_size=batches._batch_size,
            epochs=1,
            steps=None if by_samples else batches.steps,
            samples=batches.samples if by_samples else batches.steps,
            verbose=verbose,
            use_steps=not by_samples,
            mode=kind,
        )
        callbacks.model.stop_training = False
        try:
            if kind == "test":
                self.reset_metrics()
            callbacks._call_begin_hook(kind)
            bar.on_train_begin()
            bar.on_epoch_begin(0, {})
            values = self._epoch(kind, batches, callbacks, bar)
            bar.on_epoch_end(0, dict(zip(self.metrics_names, values)) if kind == "test" else {})
            callbacks._call_end_hook(kind)
            return values
        finally:
            batches.close()

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
        self._check_call_args("evaluate")
        options = dict(
            max_queue_size=max_queue_size, workers=workers, use_multiprocessing=use_multiprocessing
        )
        values = self._loop("test", x, y, sample_weight, batch_size, steps, callbacks, verbose, options)
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
        self._check_call_args("predict")
        options = dict(
            max_queue_size=max_queue_size, workers=workers, use_multiprocessing=use_multiprocessing
        )
        parts = self._loop("predict", x, None, None, batch_size, steps, callbacks, verbose, options)
        outputs = [batch_values.joined([p[i] for p in parts]) for i in range(len(self.outputs))]
        return outputs[0] if len(outputs) == 1 else outputs

    def train_on_batch(self, x, y=None, sample_weight=None, class_weight=None, reset_metrics=True):
        """Makes one step. Returns the loss, or a list of loss and metrics."""
        return self._on_batch("train", x, y, sample_weight, class_weight, reset_metrics)

    def test_on_batch(self, x, y=None, sample_weight=None, reset_metrics=True):
        """The loss of a batch, or a list of loss and metrics."""
        return self._on_batch("test", x, y, sample_weight, None, reset_metrics)

    def _on_batch(self, kind, x, y, sample_weight, class_weight, reset_metrics):
        self._check_call_args(f"{kind}_on_batch")
        if training_utils.is_dataset(x) or training_utils.is_iterator(x):
            batches = training_utils.Batches(
                self, self._ready(x), y, sample_weight, None, 1, False, class_weight, kind
            )
            inputs, targets, weights, _, _ = next(iter(batches))
        else:
            self._ready(x, y=y)
            inputs, targets, weights = self._standardize_user_data(x, y, sample_weight, class_weight)
            if self._in_multi_worker_mode():
                inputs, targets, weights = training_utils.part_of_worker(self, inputs, targets, weights)
        values = self._run(kind, inputs, targets, weights)
        if reset_metrics:
            self.reset_metrics()
        return values[0] if len(values) == 1 else values

    def predict_on_batch(self, x):
        """The outputs for a batch."""
        self._check_call_args("predict_on_batch")
        if training_utils.is_dataset(x) or training_utils.is_iterator(x):
            x = self._ready(x, compiled=False)
            batches = training_utils.Batches(self, x, None, None, None, 1, False, None, "predict")
            inputs, _, _, _, _ = next(iter(batches))
        else:
            self._ready(x, compiled=False)
            inputs, _, _ = self._standardize_user_data(x)
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
            max_queue_size=max_queue_size,
            workers=workers,
            use_multiprocessing=use_multiprocessing,
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
        return self.evaluate(
            generator,
            steps=steps,
            callbacks=callbacks,
            max_queue_size=max_queue_size,
            workers=workers,
            use_multiprocessing=use_multiprocessing,
            verbose=verbose,
        )

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
        return self.predict(
            generator,
            steps=steps,
            callbacks=callbacks,
            max_queue_size=max_queue_size,
            workers=workers,
            use_multiprocessing=use_multiprocessing,
            verbose=verbose,
        )


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

    def loss_value(self, mask, sample_weight, target=None, output=None):
        """The loss, by mask and weights; of another target and output, if they are given."""
        target = self.target if target is None else target
        output = self.output if output is None else output
        if mask is not None:
            mask = math_ops.cast(mask, output.dtype)
            if sample_weight is None:
                sample_weight = mask
            else:
                mask, _, sample_weight = losses_utils.squeeze_or_expand_dimensions(mask, None, sample_weight)
                sample_weight *= mask
        if not hasattr(self.loss, "reduction") or type(self.loss).__call__ is not losses_module.Loss.__call__:
            return self.loss(target, output, sample_weight=sample_weight)
        each = self.loss.call(target, output)
        weighted = losses_utils.compute_weighted_loss(
            each, sample_weight=sample_weight, reduction=losses_utils.ReductionV2.NONE
        )
        reduction = self.loss.reduction
        if reduction == losses_utils.ReductionV2.AUTO:
            reduction = losses_utils.ReductionV2.SUM_OVER_BATCH_SIZE
        return losses_utils.reduce_weighted_loss(weighted, reduction=reduction)

    def feed_shape(self):
        """The shape that targets have to have; None where the loss of the program's own takes any."""
        fn = getattr(self.loss, "fn", None)
        shape = K.int_shape(self.output)
        if fn is losses_module.sparse_categorical_crossentropy:
            if K.image_data_format() == "channels_first" and len(shape) in (4, 5):
                return (shape[0], 1) + shape[2:]
            return shape[:-1] + (1,)
        if not isinstance(self.loss, losses_module.Loss):
            return None
        if isinstance(self.loss, losses_module.LossFunctionWrapper):
            if getattr(losses_module, getattr(fn, "__name__", ""), None) is None:
                return None
        return shape


def _is_sum(loss):
    """Whether a loss is the sum over the examples, not their mean."""
    return getattr(loss, "reduction", None) == losses_utils.ReductionV2.SUM


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


def _dense_if(a, tensor):
    """The array, dense where it is a matrix of SciPy and the tensor is dense."""
    return a.toarray() if hasattr(a, "tocoo") and not K.is_sparse(tensor) else a


def _symbolic(x, name):
    """The tensor x, or a placeholder for arrays like x."""
    if isinstance(x, ops.Tensor) or batch_values.is_composite_tensor(x):
        return x
    shape = x.shape.as_list() if isinstance(x.shape, tensor_shape.TensorShape) else list(x.shape)
    if len(shape) == 1:
        shape = [None, 1]  # data are fed so
    dtype = dtypes.as_dtype(x.dtype)
    return K.placeholder(
        shape=[None] + shape[1:], dtype=K.floatx() if dtype.is_floating else dtype, name=name
    )


def _unpacked(data):
    """(x, y, weights) of data for validation."""
    if not isinstance(data, (list, tuple)):
        return data, None, None
    if len(data) not in (2, 3):
        raise ValueError(
            "When passing a `validation_data` argument, it must contain either 2 items (x_val, y_val), or 3 "
            "items (x_val, y_val, val_sample_weights), or alternatively it could be a dataset or a dataset or "
            f"a dataset iterator. However we received `validation_data={data}`"
        )
    return tuple(data) + (None,) * (3 - len(data))
