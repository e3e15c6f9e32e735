"""Estimator: a model function with the loops around it.

Each call of train, evaluate or predict makes a graph of its own: the input function and the model function
build into it, and a session restores the newest checkpoint of the model directory.
"""

import collections
import contextlib
import copy
import os
import shutil
import tempfile

import numpy as np

from braid.tensorflow.python.client import session as tf_session
from braid.tensorflow.python.estimator import model_fn as model_fn_lib
from braid.tensorflow.python.estimator import run_config
from braid.tensorflow.python.estimator import util as estimator_util
from braid.tensorflow.python.estimator.export import export as export_helpers
from braid.tensorflow.python.estimator.mode_keys import ModeKeys
from braid.tensorflow.python.framework import errors
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import random_seed
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import metrics as metrics_lib
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.saved_model import builder as saved_model_builder
from braid.tensorflow.python.saved_model import constants as saved_model_constants
from braid.tensorflow.python.saved_model import loader
from braid.tensorflow.python.saved_model import utils_impl as saved_model_utils
from braid.tensorflow.python.summary import summary
from braid.tensorflow.python.summary.writer import writer_cache
from braid.tensorflow.python.training import basic_session_run_hooks
from braid.tensorflow.python.training import checkpoint_management
from braid.tensorflow.python.training import checkpoint_utils
from braid.tensorflow.python.training import device_setter
from braid.tensorflow.python.training import evaluation
from braid.tensorflow.python.training import monitored_session
from braid.tensorflow.python.training import saver
from braid.tensorflow.python.training import session_run_hook
from braid.tensorflow.python.training import training
from braid.tensorflow.python.training import training_util
from braid.tensorflow.python.training import warm_starting_util
from braid.tensorflow.python.util import compat
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import estimator_export

_VALID_MODEL_FN_ARGS = {"features", "labels", "mode", "params", "self", "config"}


VocabInfo = warm_starting_util.VocabInfo
estimator_export("estimator.VocabInfo").export_constant(__name__, "VocabInfo")


@estimator_export("estimator.WarmStartSettings")
class WarmStartSettings(
    collections.namedtuple(
        "WarmStartSettings",
        [
            "ckpt_to_initialize_from",
            "vars_to_warm_start",
            "var_name_to_vocab_info",
            "var_name_to_prev_var_name",
        ],
    )
):
    """Which variables begin with the values of a checkpoint.

    ckpt_to_initialize_from: a checkpoint, or a directory with one. vars_to_warm_start: a regular expression,
    a list of them or of variables; None for embeddings only. var_name_to_vocab_info: VocabInfo by the
    variable's name. var_name_to_prev_var_name: names in the checkpoint, by those in the graph.
    """

    def __new__(
        cls,
        ckpt_to_initialize_from,
        vars_to_warm_start=".*",
        var_name_to_vocab_info=None,
        var_name_to_prev_var_name=None,
    ):
        if not ckpt_to_initialize_from:
            raise ValueError("`ckpt_to_initialize_from` MUST be set in WarmStartSettings")
        return super().__new__(
            cls,
            ckpt_to_initialize_from,
            vars_to_warm_start,
            var_name_to_vocab_info or {},
            var_name_to_prev_var_name or {},
        )


class EstimatorV2:
    """Trains, evaluates and uses the model that `model_fn` builds.

    model_fn: a function of features, and of those of labels, mode, params and config that it takes by these
    names. It returns an EstimatorSpec. model_dir: where checkpoints and events are written; that of config,
    or a temporary directory, if None. config: a RunConfig. params: what the model function gets as params.
    warm_start_from: a checkpoint, a directory with one, or WarmStartSettings, for the first training.
    """

    def __init__(self, model_fn, model_dir=None, config=None, params=None, warm_start_from=None):
        self._assert_members_are_not_overridden(self)
        self._config = maybe_overwrite_model_dir_and_session_config(config, model_dir)
        self._train_distribution = self._config.train_distribute
        self._eval_distribution = self._config.eval_distribute
        if self._eval_distribution is not None and self._eval_distribution.num_replicas_in_sync > 1:
            raise NotImplementedError(
                "RunConfig(eval_distribute=): Braid evaluates on one device; train_distribute takes several"
            )
        self._model_dir = self._config.model_dir
        self._session_config = self._config.session_config
        logging.info("Using config: %s", self._config)
        self._device_fn = self._config.device_fn or _get_replica_device_setter(self._config)
        if model_fn is None:
            raise ValueError("model_fn must be provided to Estimator.")
        _verify_model_fn_args(model_fn, params)
        self._model_fn = model_fn
        self._params = copy.deepcopy(params or {})
        self._warm_start_settings = _get_default_warm_start_settings(warm_start_from)

    @property
    def model_dir(self):
        return self._model_dir

    @property
    def config(self):
        return copy.deepcopy(self._config)

    @property
    def params(self):
        return copy.deepcopy(self._params)

    @property
    def model_fn(self):
        """The model function, with params and config bound: model_fn(features, labels, mode, config)."""

        def public_model_fn(features, labels, mode, config):
            return self._call_model_fn(features, labels, mode, config)

        return public_model_fn

    def get_variable_value(self, name):
        """The value of a variable in the newest checkpoint, as an array."""
        self._check_checkpoint()
        with ops.Graph().as_default():
            return checkpoint_utils.load_variable(self.model_dir, name)

    def get_variable_names(self):
        """The names of all variables of the newest checkpoint."""
        self._check_checkpoint()
        return [name for name, _ in checkpoint_utils.list_variables(self.model_dir)]

    def latest_checkpoint(self):
        """The path of the newest checkpoint, or None."""
        return checkpoint_management.latest_checkpoint(self.model_dir)

    def _check_checkpoint(self):
        if not self.latest_checkpoint():
            raise ValueError(f"Could not find trained model in model_dir: {self._model_dir}.")

    def train(self, input_fn, hooks=None, steps=None, max_steps=None, saving_listeners=None):
        """Trains, from the newest checkpoint on. Returns self.

        input_fn: a function that returns a Dataset of (features, labels), or (features, labels). steps: how
        many more steps; until the input ends if None. max_steps: up to which global step; not both. hooks:
        SessionRunHooks. saving_listeners: CheckpointSaverListeners.
        """
        if self._config.task_type in (run_config.TaskType.EVALUATOR, run_config.TaskType.PS):
            raise ValueError(
                "Train has been called wrong configuration. Please use tf.estimator.train_and_evaluate which "
                "calls proper API according to given configuration. Current configuration: "
                f"{self._config}."
            )
        if steps is not None and max_steps is not None:
            raise ValueError("Can not provide both steps and max_steps.")
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        if max_steps is not None and max_steps <= 0:
            raise ValueError(f"Must specify max_steps > 0, given: {max_steps}")
        if max_steps is not None and max_steps <= _load_global_step_from_checkpoint_dir(self._model_dir):
            logging.info("Skipping training since max_steps has already saved.")
            return self
        hooks = _check_hooks_type(hooks)
        hooks.extend(self._convert_train_steps_to_hooks(steps, max_steps))
        saving_listeners = _check_listeners_type(saving_listeners)
        loss = self._train_model(input_fn, hooks, saving_listeners)
        logging.info("Loss for final step: %s.", loss)
        return self

    def _convert_train_steps_to_hooks(self, steps, max_steps):
        if steps is None and max_steps is None:
            return []
        return [basic_session_run_hooks.StopAtStepHook(steps, max_steps)]

    def eval_dir(self, name=None):
        """Where evaluate(name=name) writes its events."""
        return os.path.join(self._model_dir, "eval" if not name else "eval_" + name)

    def evaluate(self, input_fn, steps=None, hooks=None, checkpoint_path=None, name=None):
        """The metrics over an input, as a dict, with "loss" and "global_step". Writes them to eval_dir(name).

        steps: how many batches; until the input ends if None. checkpoint_path: the newest if None.
        """
        hooks = _check_hooks_type(hooks)
        hooks.extend(self._convert_eval_steps_to_hooks(steps))
        if not checkpoint_path:
            checkpoint_path = self.latest_checkpoint()
            if not checkpoint_path:
                logging.info(
                    "Could not find trained model in model_dir: %s, running initialization to evaluate.",
                    self._model_dir,
                )
        with ops.Graph().as_default(), self._scope(self._eval_distribution):
            scaffold, update_op, eval_dict, all_hooks = self._evaluate_build_graph(
                input_fn, hooks, checkpoint_path
            )
            return self._evaluate_run(
                checkpoint_path=checkpoint_path,
                scaffold=scaffold,
                update_op=update_op,
                eval_dict=eval_dict,
                all_hooks=all_hooks,
                output_dir=self.eval_dir(name),
            )

    def _convert_eval_steps_to_hooks(self, steps):
        if steps is None:
            return []
        if steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        return [evaluation._StopAfterNEvalsHook(num_evals=steps)]

    def predict(
        self, input_fn, predict_keys=None, hooks=None, checkpoint_path=None, yield_single_examples=True
    ):
        """Gives the predictions of one example after another; of whole batches if not yield_single_examples.

        input_fn: a function that returns features, or (features, labels), whose labels are not used.
        predict_keys: those of the predictions that are wanted. checkpoint_path: the newest if None.
        """
        hooks = _check_hooks_type(hooks)
        if not checkpoint_path:
            checkpoint_path = self.latest_checkpoint()
            if not checkpoint_path:
                logging.info(
                    "Could not find trained model in model_dir: %s, running initialization to predict.",
                    self._model_dir,
                )
        with ops.Graph().as_default() as graph:
            random_seed.set_random_seed(self._config.tf_random_seed)
            self._create_and_assert_global_step(graph)
            features, input_hooks = self._get_features_from_input_fn(input_fn, ModeKeys.PREDICT)
            spec = self._call_model_fn(features, None, ModeKeys.PREDICT, self.config)
            self._maybe_warm_start(checkpoint_path)
            predictions = self._extract_keys(spec.predictions, predict_keys)
            all_hooks = list(input_hooks) + hooks + list(spec.prediction_hooks)
            with monitored_session.MonitoredSession(
                session_creator=monitored_session.ChiefSessionCreator(
                    checkpoint_filename_with_path=checkpoint_path,
                    master=self._config.master,
                    scaffold=spec.scaffold,
                    config=self._session_config,
                ),
                hooks=all_hooks,
            ) as session:
                while not session.should_stop():
                    values = session.run(predictions)
                    if not yield_single_examples:
                        yield values
                    elif not isinstance(predictions, dict):
                        yield from values
                    else:
                        for i in range(self._extract_batch_length(values)):
                            yield {key: value[i] for key, value in values.items()}

    @staticmethod
    def _assert_members_are_not_overridden(self):
        """Static as in TensorFlow: libraries put a function of one argument in its place."""
        allowed = {
            "model_fn",
            "_create_and_assert_global_step",
            "_export_all_saved_models",
            "_tf_api_names",
            "_tf_api_names_v1",
            "_estimator_api_names",
            "_estimator_api_constants",
            "_create_global_step",
            "_distribute_run",
            "export_savedmodel",
        }
        own = {n for n in EstimatorV2.__dict__ if n not in allowed and not n.startswith("__")}
        changed = {
            n
            for n in own
            if getattr(type(self), n) is not EstimatorV2.__dict__[n]
            and not isinstance(EstimatorV2.__dict__[n], staticmethod)
            and not type(self).__module__.startswith("braid.")
        }
        if changed:
            raise ValueError(
                "Subclasses of Estimator cannot override members of Estimator. "
                f"{type(self)} does override {sorted(changed)}"
            )

    # Export.

    def export_saved_model(
        self,
        export_dir_base,
        serving_input_receiver_fn,
        assets_extra=None,
        as_text=False,
        checkpoint_path=None,
        experimental_mode=ModeKeys.PREDICT,
    ):
        """Writes a SavedModel to a directory below `export_dir_base` that is named by the time. Returns it
        (bytes).

        serving_input_receiver_fn: a function that returns a ServingInputReceiver. assets_extra: a dict from
        paths below assets.extra to files to copy. as_text: as saved_model.pbtxt. checkpoint_path: the newest
        if None.
        """
        if not serving_input_receiver_fn:
            raise ValueError("An input_receiver_fn must be defined.")
        return self._export_all_saved_models(
            export_dir_base,
            {experimental_mode: serving_input_receiver_fn},
            assets_extra=assets_extra,
            as_text=as_text,
            checkpoint_path=checkpoint_path,
            strip_default_attrs=True,
        )

    @property
    def export_savedmodel(self):
        raise AttributeError(
            "'Estimator' has no attribute 'export_savedmodel'. Please use `export_saved_model`"
        )

    def experimental_export_all_saved_models(
        self, export_dir_base, input_receiver_fn_map, assets_extra=None, as_text=False, checkpoint_path=None
    ):
        """A SavedModel with a graph for each mode in `input_receiver_fn_map`, a dict from modes to
        functions."""
        return self._export_all_saved_models(
            export_dir_base,
            input_receiver_fn_map,
            assets_extra=assets_extra,
            as_text=as_text,
            checkpoint_path=checkpoint_path,
            strip_default_attrs=True,
        )

    def _export_all_saved_models(
        self,
        export_dir_base,
        input_receiver_fn_map,
        assets_extra=None,
        as_text=False,
        checkpoint_path=None,
        strip_default_attrs=True,
    ):
        if not checkpoint_path:
            checkpoint_path = self.latest_checkpoint()
        if not checkpoint_path and self._warm_start_settings:
            checkpoint_path = self._warm_start_settings.ckpt_to_initialize_from
            if os.path.isdir(checkpoint_path):
                checkpoint_path = checkpoint_management.latest_checkpoint(checkpoint_path)
        if not checkpoint_path:
            raise ValueError(f"Couldn't find trained model at {self._model_dir}.")
        modes = [m for m in (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT) if input_receiver_fn_map.get(m)]
        if not modes:
            raise ValueError("No valid modes for exporting found. Got " f"{list(input_receiver_fn_map)}.")
        export_dir = export_helpers.get_timestamped_export_dir(export_dir_base)
        temporary = export_helpers.get_temp_export_dir(export_dir)
        builder = saved_model_builder.SavedModelBuilder(temporary)
        with_variables = True
        for mode in modes:
            self._add_meta_graph_for_mode(
                builder,
                input_receiver_fn_map[mode],
                checkpoint_path,
                mode,
                with_variables,
                strip_default_attrs,
            )
            with_variables = False
        builder.save(as_text)
        for target, source in (assets_extra or {}).items():
            path = os.path.join(temporary, "assets.extra", compat.as_str(target))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.copyfile(compat.as_str(source), path)
        os.rename(temporary, export_dir)
        return compat.as_bytes(export_dir)

    def _add_meta_graph_for_mode(
        self, builder, input_receiver_fn, checkpoint_path, mode, with_variables, strip_default_attrs
    ):
        with ops.Graph().as_default() as graph:
            self._create_and_assert_global_step(graph)
            random_seed.set_random_seed(self._config.tf_random_seed)
            receiver = input_receiver_fn()
            spec = self._call_model_fn(
                features=receiver.features,
                labels=getattr(receiver, "labels", None),
                mode=mode,
                config=self.config,
            )
            outputs = export_helpers.export_outputs_for_mode(
                mode=mode,
                serving_export_outputs=spec.export_outputs,
                predictions=spec.predictions,
                loss=spec.loss,
                metrics=spec.eval_metric_ops,
            )
            signatures = export_helpers.build_all_signature_defs(
                receiver.receiver_tensors,
                outputs,
                getattr(receiver, "receiver_tensors_alternatives", None),
                serving_only=mode == ModeKeys.PREDICT,
            )
            with tf_session.Session(config=self._session_config) as session:
                if spec.scaffold.local_init_op is not None:
                    local_init_op = spec.scaffold.local_init_op
                else:
                    local_init_op = monitored_session.Scaffold.default_local_init_op()
                graph_saver = spec.scaffold.saver or saver.Saver(sharded=True)
                try:
                    graph_saver.restore(session, checkpoint_path)
                except errors.NotFoundError as error:
                    raise ValueError(
                        "Could not load all requested variables from checkpoint. Please make sure your model_fn "
                        "does not expect variables that were not saved in the checkpoint.\n\nEncountered error "
                        f"with mode `{mode}` while restoring checkpoint from: `{checkpoint_path}`:\n\n{error}"
                    ) from error
                if spec.train_op is not None:
                    ops.add_to_collection(saved_model_constants.TRAIN_OP_KEY, spec.train_op)
                tags = model_fn_lib.EXPORT_TAG_MAP[mode]
                arguments = dict(
                    tags=tags,
                    signature_def_map=signatures,
                    assets_collection=ops.get_collection(ops.GraphKeys.ASSET_FILEPATHS),
                    main_op=local_init_op,
                    saver=graph_saver,
                    strip_default_attrs=strip_default_attrs,
                )
                if with_variables:
                    builder.add_meta_graph_and_variables(session, **arguments)
                else:
                    builder.add_meta_graph(**arguments)

    # Inputs.

    def _get_features_from_input_fn(self, input_fn, mode):
        result = self._call_input_fn(input_fn, mode)
        features, _, hooks = estimator_util.parse_input_fn_result(result)
        self._validate_features_in_predict_input(result)
        return features, hooks

    def _validate_features_in_predict_input(self, result):
        if not _has_dataset_or_queue_runner(result):
            logging.warning(
                "Input graph does not use tf.data.Dataset or contain a QueueRunner. That means predict "
                "yields forever. This is probably a mistake."
            )

    def _get_features_and_labels_from_input_fn(self, input_fn, mode):
        return estimator_util.parse_input_fn_result(self._call_input_fn(input_fn, mode))

    def _call_input_fn(self, input_fn, mode):
        names = estimator_util.fn_args(input_fn)
        known = {"mode": mode, "params": self.params, "config": self.config}
        if "input_context" in names:
            from braid.tensorflow.python.distribute import distribute_lib

            strategy = self._train_distribution if mode == ModeKeys.TRAIN else self._eval_distribution
            known["input_context"] = (
                strategy.extended._input_context() if strategy else distribute_lib.InputContext()
            )
        kwargs = {name: known[name] for name in names if name in known}
        with ops.device("/cpu:0"):
            return input_fn(**kwargs)

    def _extract_batch_length(self, preds_evaluated):
        length = None
        for key, value in preds_evaluated.items():
            rows = value.dense_shape[0] if hasattr(value, "dense_shape") else np.shape(value)[0]
            if length is not None and rows != length:
                raise ValueError(
                    f"Batch length of predictions should be same. {key} has different batch length than others."
                )
            length = rows
        return length or 0

    def _extract_keys(self, predictions, predict_keys):
        if not predict_keys:
            return predictions
        if not isinstance(predictions, dict):
            raise ValueError("predict_keys argument is not valid in case of non-dict predictions.")
        chosen = {key: value for key, value in predictions.items() if key in predict_keys}
        if not chosen:
            raise ValueError(
                f"Expected to run at least one output from {list(predictions)}, " f"provided {predict_keys}."
            )
        return chosen

    # The model.

    def _create_global_step(self, graph):
        return training_util.create_global_step(graph)

    def _create_and_assert_global_step(self, graph):
        step = self._create_global_step(graph)
        assert step is training_util.get_global_step(graph)
        assert step.dtype.base_dtype.is_integer
        return step

    def _call_model_fn(self, features, labels, mode, config):
        names = estimator_util.fn_args(self._model_fn)
        kwargs = {}
        if "labels" in names:
            kwargs["labels"] = labels
        elif labels is not None:
            raise ValueError("model_fn does not take labels, but input_fn returns labels.")
        for name, value in (("mode", mode), ("params", self.params), ("config", config)):
            if name in names:
                kwargs[name] = value
        logging.info("Calling model_fn.")
        spec = self._model_fn(features=features, **kwargs)
        logging.info("Done calling model_fn.")
        if not isinstance(spec, model_fn_lib.EstimatorSpec):
            raise ValueError("model_fn should return an EstimatorSpec.")
        return spec

    def _scope(self, strategy):
        return strategy.scope() if strategy is not None else contextlib.nullcontext()

    def _in_replica(self, strategy, fn, *args):
        """The EstimatorSpec of fn; of several replicas that of the first one, with the loss and the train_op
        of all.
        """
        if strategy is None or strategy.num_replicas_in_sync == 1:
            return fn(*args) if strategy is None else strategy.extended.call_for_each_replica(fn, args)
        specs = []

        def keep(*args):
            specs.append(fn(*args))
            return specs[-1].loss, specs[-1].train_op

        with strategy._scale_loss_for_estimator_enabled():
            loss, train_op = strategy.extended.call_for_each_replica(keep, args)
            scaled = getattr(ops.get_default_graph(), "_is_loss_scaled_by_optimizer", False)
        loss = strategy.reduce("MEAN" if scaled else "SUM", loss)
        return specs[0]._replace(loss=loss, train_op=strategy.group(train_op))

    def _maybe_warm_start(self, checkpoint_path):
        """Has the variables begin with those of another model, unless there is a checkpoint of this one."""
        if not checkpoint_path and self._warm_start_settings:
            logging.info("Warm-starting with WarmStartSettings: %s", self._warm_start_settings)
            warm_starting_util.warm_start(*self._warm_start_settings)

    # Training.

    def _train_model(self, input_fn, hooks, saving_listeners):
        with ops.Graph().as_default() as graph, graph.device(self._device_fn), self._scope(
            self._train_distribution
        ):
            random_seed.set_random_seed(self._config.tf_random_seed)
            if self._create_and_assert_global_step(graph) is not None:
                training_util._get_or_create_global_step_read(graph)
            strategy = self._train_distribution
            features, labels, input_hooks = estimator_util.parse_input_fn_result(
                self._call_input_fn(input_fn, ModeKeys.TRAIN),
                strategy if strategy is not None and strategy.num_replicas_in_sync > 1 else None,
            )
            spec = self._in_replica(
                self._train_distribution, self._call_model_fn, features, labels, ModeKeys.TRAIN, self.config
            )
            global_step = training_util.get_global_step(graph)
            return self._train_with_estimator_spec(
                spec, list(input_hooks), hooks, global_step, saving_listeners
            )

    def _train_with_estimator_spec(self, spec, worker_hooks, hooks, global_step, saving_listeners):
        config = self._config
        self._maybe_warm_start(None)
        if not any(s.op.name == "loss" for s in ops.get_collection(ops.GraphKeys.SUMMARIES)):
            summary.scalar("loss", spec.loss)
        ops.add_to_collection(ops.GraphKeys.LOSSES, spec.loss)
        worker_hooks.extend(hooks)
        worker_hooks.append(basic_session_run_hooks.NanTensorHook(spec.loss))
        if config.log_step_count_steps is not None:
            worker_hooks.append(
                basic_session_run_hooks.LoggingTensorHook(
                    {"loss": spec.loss, "step": global_step}, every_n_iter=config.log_step_count_steps
                )
            )
        worker_hooks.extend(spec.training_hooks)
        if not (spec.scaffold.saver or ops.get_collection(ops.GraphKeys.SAVERS)):
            ops.add_to_collection(
                ops.GraphKeys.SAVERS,
                saver.Saver(
                    sharded=True,
                    max_to_keep=config.keep_checkpoint_max,
                    keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours,
                    defer_build=True,
                    save_relative_paths=True,
                ),
            )
        chief_hooks = self._saver_hooks(spec, worker_hooks, saving_listeners)
        chief_hooks = tuple(chief_hooks) + tuple(spec.training_chief_hooks)
        strategy = self._train_distribution
        # Workers that have variables of their own initialize them, and the first of them saves.
        has_own_variables = strategy is not None and strategy.extended.experimental_between_graph
        saves = not has_own_variables or strategy.extended.should_checkpoint
        summary_steps = config.save_summary_steps if saves else None
        step_count_steps = config.log_step_count_steps if saves else None
        jobs = config.cluster_spec.as_dict()
        if run_config.TaskType.MASTER in jobs and run_config.TaskType.WORKER in jobs:
            # The master evaluates, too: the first worker writes summaries.
            summary_steps, step_count_steps = 0, None
            if config.task_type == run_config.TaskType.WORKER and config.task_id == 0:
                worker_hooks.append(
                    basic_session_run_hooks.SummarySaverHook(
                        save_steps=config.save_summary_steps,
                        output_dir=config.model_dir,
                        scaffold=spec.scaffold,
                    )
                )
                worker_hooks.append(
                    basic_session_run_hooks.StepCounterHook(
                        every_n_steps=config.log_step_count_steps, output_dir=config.model_dir
                    )
                )
        with training.MonitoredTrainingSession(
            master=config.master,
            is_chief=config.is_chief or has_own_variables,
            checkpoint_dir=self._model_dir,
            scaffold=spec.scaffold,
            hooks=worker_hooks,
            chief_only_hooks=chief_hooks if saves else (),
            save_checkpoint_secs=0,  # a hook of this estimator saves
            save_summaries_steps=summary_steps,
            save_summaries_secs=None,
            config=self._session_config,
            max_wait_secs=config.session_creation_timeout_secs,
            log_step_count_steps=step_count_steps,
        ) as session:
            loss, any_step_done = None, False
            while not session.should_stop():
                _, loss = session.run([spec.train_op, spec.loss])
                any_step_done = True
        if not any_step_done:
            logging.warning("Training with estimator made no steps. Perhaps input is empty or misspecified.")
        return loss

    def _saver_hooks(self, spec, worker_hooks, saving_listeners):
        """A hook that saves checkpoints, unless the program gave one; the listeners are added to it."""
        config, made = self._config, []
        saver_hook_type = basic_session_run_hooks.CheckpointSaverHook
        savers = [h for h in worker_hooks + list(spec.training_chief_hooks) if isinstance(h, saver_hook_type)]
        if (config.save_checkpoints_secs or config.save_checkpoints_steps) and not savers:
            made = [
                saver_hook_type(
                    self._model_dir,
                    save_secs=config.save_checkpoints_secs,
                    save_steps=config.save_checkpoints_steps,
                    scaffold=spec.scaffold,
                )
            ]
            savers = [made[0]]
        if saving_listeners:
            if not savers:
                raise ValueError(
                    "There should be a CheckpointSaverHook to use saving_listeners. Please set one of "
                    "the RunConfig.save_checkpoints_steps or RunConfig.save_checkpoints_secs."
                )
            for listener in saving_listeners:
                if listener not in savers[0]._listeners:
                    savers[0]._listeners.append(listener)
        return made

    # Evaluation.

    def _evaluate_build_graph(self, input_fn, hooks=None, checkpoint_path=None):
        graph = ops.get_default_graph()
        random_seed.set_random_seed(self._config.tf_random_seed)
        self._create_and_assert_global_step(graph)
        features, labels, input_hooks = self._get_features_and_labels_from_input_fn(input_fn, ModeKeys.EVAL)
        spec = self._in_replica(
            self._eval_distribution, self._call_model_fn, features, labels, ModeKeys.EVAL, self.config
        )
        self._maybe_warm_start(checkpoint_path)
        metrics = dict(spec.eval_metric_ops)
        if model_fn_lib.LOSS_METRIC_KEY in metrics:
            raise ValueError(
                f'Metric with name "{model_fn_lib.LOSS_METRIC_KEY}" is not allowed, because Estimator already '
                "defines a default metric with the same name."
            )
        metrics[model_fn_lib.LOSS_METRIC_KEY] = metrics_lib.mean(spec.loss)
        update_op, eval_dict = _extract_metric_update_ops(metrics)
        if ops.GraphKeys.GLOBAL_STEP in eval_dict:
            raise ValueError(
                "Metric with name `global_step` is not allowed, because Estimator already defines a "
                "default metric with the same name."
            )
        eval_dict[ops.GraphKeys.GLOBAL_STEP] = training_util.get_global_step(graph)
        all_hooks = list(input_hooks) + list(hooks or []) + list(spec.evaluation_hooks)
        return spec.scaffold, update_op, eval_dict, all_hooks

    def _evaluate_run(self, checkpoint_path, scaffold, update_op, eval_dict, all_hooks, output_dir):
        if scaffold is not None and scaffold.local_init_op is not None:
            # The program's own op does not know of the variables of evaluation.
            evaluation._get_or_create_eval_step()
            default = monitored_session.Scaffold.default_local_init_op()
            scaffold = monitored_session.Scaffold(
                local_init_op=control_flow_ops.group(scaffold.local_init_op, default),
                copy_from_scaffold=scaffold,
            )
        results = evaluation._evaluate_once(
            checkpoint_path=checkpoint_path,
            master=self._config.evaluation_master,
            scaffold=scaffold,
            eval_ops=update_op,
            final_ops=eval_dict,
            hooks=all_hooks,
            config=self._session_config,
        )
        step = results[ops.GraphKeys.GLOBAL_STEP]
        _write_dict_to_summary(output_dir, results, step)
        if checkpoint_path:
            _write_checkpoint_path_to_summary(output_dir, checkpoint_path, step)
        return results


@estimator_export(v1=["estimator.Estimator"])
class Estimator(EstimatorV2):
    __doc__ = EstimatorV2.__doc__

    def export_savedmodel(
        self,
        export_dir_base,
        serving_input_receiver_fn,
        assets_extra=None,
        as_text=False,
        checkpoint_path=None,
        strip_default_attrs=False,
    ):
        """The older form of export_saved_model."""
        if not serving_input_receiver_fn:
            raise ValueError("An input_receiver_fn must be defined.")
        return self._export_all_saved_models(
            export_dir_base,
            {ModeKeys.PREDICT: serving_input_receiver_fn},
            assets_extra=assets_extra,
            as_text=as_text,
            checkpoint_path=checkpoint_path,
            strip_default_attrs=strip_default_attrs,
        )


def _has_dataset_or_queue_runner(result):
    """Whether what an input function returned can end."""
    if estimator_util._is_dataset(result):
        return True
    if any(isinstance(t, ops.Tensor) and t.op.type == "IteratorGetNext" for t in nest.flatten(result)):
        return True
    return bool(ops.get_default_graph().get_collection(ops.GraphKeys.QUEUE_RUNNERS))


def _check_hooks_type(hooks):
    hooks = list(hooks or [])
    for hook in hooks:
        if not isinstance(hook, session_run_hook.SessionRunHook):
            raise TypeError(f"Hooks must be a SessionRunHook, given: {hook}")
    return hooks


def _check_listeners_type(saving_listeners):
    listeners = list(saving_listeners or [])
    for listener in listeners:
        if not isinstance(listener, basic_session_run_hooks.CheckpointSaverListener):
            raise TypeError(f"saving_listeners must be a list of CheckpointSaverListener, given: {listener}")
    return listeners


def maybe_overwrite_model_dir_and_session_config(config, model_dir):
    """A RunConfig with the model directory, which is a temporary one if none is known."""
    if config is None:
        config = run_config.RunConfig()
        logging.info("Using default config.")
    if not isinstance(config, run_config.RunConfig):
        raise ValueError(f"config must be an instance of `RunConfig`, but provided {config}.")
    if config.session_config is None:
        config = run_config.RunConfig.replace(config, session_config=run_config.get_default_session_config())
    if model_dir is not None:
        model_dir = run_config.path_to_str(model_dir)
        if config.model_dir is not None and config.model_dir != model_dir:
            raise ValueError(
                "`model_dir` are set both in constructor and `RunConfig`, but with different values. In constructor: "
                f"'{model_dir}', in `RunConfig`: '{config.model_dir}' "
            )
    model_dir = model_dir or config.model_dir
    if not model_dir:
        model_dir = tempfile.mkdtemp()
        logging.warning("Using temporary folder as model directory: %s", model_dir)
    return run_config.RunConfig.replace(config, model_dir=model_dir)


def _get_replica_device_setter(config):
    """Where the nodes of a task are: variables and tables on the parameter servers, if there are any."""
    if not config.num_ps_replicas > 0:
        return None
    worker = f"/job:{config.task_type}/task:{config.task_id}" if config.task_type else "/job:worker"
    tables = [
        "MutableHashTable",
        "MutableHashTableV2",
        "MutableHashTableOfTensors",
        "MutableHashTableOfTensorsV2",
        "MutableDenseHashTable",
        "MutableDenseHashTableV2",
        "VarHandleOp",
    ]
    standard = list(device_setter.STANDARD_PS_OPS)
    return device_setter.replica_device_setter(
        ps_tasks=config.num_ps_replicas,
        worker_device=worker,
        merge_devices=True,
        ps_ops=standard + [t for t in tables if t not in standard],
        cluster=config.cluster_spec,
    )


def _verify_model_fn_args(model_fn, params):
    names = set(estimator_util.fn_args(model_fn))
    if "features" not in names:
        raise ValueError(f"model_fn ({model_fn}) must include features argument.")
    if params is not None and "params" not in names:
        raise ValueError(
            f"model_fn ({model_fn}) does not include params argument, but params ({params}) is passed to Estimator."
        )
    if params is None and "params" in names:
        logging.warning(
            "Estimator's model_fn (%s) includes params argument, but params are not passed to " "Estimator.",
            model_fn,
        )
    unknown = sorted(names - _VALID_MODEL_FN_ARGS)
    if unknown:
        raise ValueError(f"model_fn ({model_fn}) has following not expected args: {unknown}")


def _load_global_step_from_checkpoint_dir(checkpoint_dir):
    try:
        reader = checkpoint_utils.load_checkpoint(checkpoint_management.latest_checkpoint(checkpoint_dir))
        return reader.get_tensor(ops.GraphKeys.GLOBAL_STEP)
    except Exception:  # noqa: BLE001: whatever cannot be read is no checkpoint
        return 0


def _extract_metric_update_ops(eval_dict):
    """(an op that updates all metrics, a dict from names to values)."""
    updates, values = [], {}
    for name, metric in sorted(eval_dict.items()):
        if isinstance(metric, tuple):
            values[name] = metric[0]
            updates.append(metric[1])
        else:
            values[name] = metric.result()
            updates.extend(metric.updates)
    return (control_flow_ops.group(*updates) if updates else None), values


def _dict_to_str(dictionary):
    return ", ".join(f"{k} = {v}" for k, v in sorted(dictionary.items()) if not isinstance(v, bytes))


def _write_dict_to_summary(output_dir, dictionary, current_global_step):
    """Writes values as summaries: numbers, vectors, and strings that are serialized Summaries."""
    from braid import protos

    logging.info("Saving dict for global step %d: %s", current_global_step, _dict_to_str(dictionary))
    writer = writer_cache.FileWriterCache.get(output_dir)
    result = protos.Summary()
    for key, value in dictionary.items():
        if value is None or key == "global_step":
            continue
        if isinstance(value, (np.floating, float)):
            result.value.add(tag=key, simple_value=float(value))
        elif isinstance(value, (int, np.integer)):
            result.value.add(tag=key, simple_value=int(value))
        elif isinstance(value, bytes):
            try:
                parsed = protos.Summary.FromString(value)
            except Exception:  # noqa: BLE001: protobuf's implementations raise different errors
                logging.warn("Skipping summary for %s, cannot parse string to Summary.", key)
                continue
            for i, item in enumerate(parsed.value):
                item.tag = f"{key}/{i}"
                result.value.add().CopyFrom(item)
        elif isinstance(value, np.ndarray):
            item = result.value.add(tag=key)
            item.node_name = key
            item.tensor.CopyFrom(tensor_util.make_tensor_proto(value))
            item.metadata.plugin_data.plugin_name = "tensor"
            logging.info(
                "Summary for np.ndarray is not visible in Tensorboard by default. Consider using a "
                "Tensorboard plugin for visualization."
            )
        else:
            logging.warn(
                "Skipping summary for %s, must be a float, np.float32, np.int64, np.int32 or int or "
                "np.ndarray or a serialized string of Summary.",
                key,
            )
    writer.add_summary(result, current_global_step)
    writer.flush()


def _write_checkpoint_path_to_summary(output_dir, checkpoint_path, current_global_step):
    from braid import protos

    logging.info(
        "Saving 'checkpoint_path' summary for global step %d: %s", current_global_step, checkpoint_path
    )
    result = protos.Summary()
    item = result.value.add(tag="checkpoint_path")
    item.tensor.CopyFrom(tensor_util.make_tensor_proto(checkpoint_path, dtype=None))
    writer = writer_cache.FileWriterCache.get(output_dir)
    writer.add_summary(result, current_global_step)
    writer.flush()


def _get_saved_model_ckpt(saved_model_dir):
    """The prefix of the checkpoint of a SavedModel. ValueError: there is none."""
    path = saved_model_utils.get_variables_path(saved_model_dir)
    if not checkpoint_management.checkpoint_exists(path):
        raise ValueError(
            f"Directory provided has an invalid SavedModel format: {os.fsdecode(saved_model_dir)}"
        )
    return path


def _get_default_warm_start_settings(warm_start_from):
    if warm_start_from is None:
        return None
    if isinstance(warm_start_from, (str, bytes, os.PathLike)):
        path = os.fsdecode(warm_start_from)
        if loader.maybe_saved_model_directory(path):
            path = _get_saved_model_ckpt(path)
            logging.info("Warm-starting from a SavedModel")
        return WarmStartSettings(ckpt_to_initialize_from=path)
    if isinstance(warm_start_from, WarmStartSettings):
        return warm_start_from
    raise ValueError(
        "warm_start_from must be a string or a WarmStartSettings, instead got " f"{type(warm_start_from)}"
    )
