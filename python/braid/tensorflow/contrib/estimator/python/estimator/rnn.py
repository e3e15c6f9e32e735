"""RNNClassifier, RNNEstimator: recurrent networks over columns of sequences."""

from braid.tensorflow.contrib.estimator.python.estimator import extenders
from braid.tensorflow.python.estimator import estimator
from braid.tensorflow.python.estimator.canned import head as head_lib
from braid.tensorflow.python.estimator.canned import optimizers
from braid.tensorflow.python.estimator.head import sequential_head as seq_head_lib
from braid.tensorflow.python.feature_column import feature_column as feature_column_lib
from braid.tensorflow.python.feature_column import sequence_feature_column as seq_fc
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.layers import core as core_layers
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import partitioned_variables
from braid.tensorflow.python.ops import rnn
from braid.tensorflow.python.ops import rnn_cell
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.ops.losses import losses
from braid.tensorflow.python.summary import summary
from braid.tensorflow.python.training import optimizer as optimizer_lib
from braid.tensorflow.python.training import training_util

_DEFAULT_LEARNING_RATE = 0.05
_DEFAULT_CLIP_NORM = 5.0
_CELL_TYPES = {
    "basic_rnn": rnn_cell.BasicRNNCell,
    "lstm": rnn_cell.BasicLSTMCell,
    "gru": rnn_cell.GRUCell,
}
USE_DEFAULT = object()


def _single_rnn_cell(num_units, cell_type):
    cell_type = _CELL_TYPES.get(cell_type, cell_type)
    if not isinstance(cell_type, type) or not issubclass(cell_type, rnn_cell.RNNCell):
        raise ValueError(f"Supported cell types are {list(_CELL_TYPES)}; got {cell_type}")
    return cell_type(num_units=num_units)


def _make_rnn_cell_fn(num_units, cell_type="basic_rnn"):
    """A function from the mode to a cell, of several layers where num_units has several sizes."""

    def rnn_cell_fn(mode):
        del mode
        cells = [_single_rnn_cell(n, cell_type) for n in num_units]
        return cells[0] if len(cells) == 1 else rnn_cell.MultiRNNCell(cells)

    return rnn_cell_fn


def _concatenate_context_input(sequence_input, context_input):
    """[batch, steps, a + b]: the context [batch, b] behind each step of [batch, steps, a]."""
    return seq_fc.concatenate_context_input(context_input, sequence_input)


def _select_last_activations(activations, sequence_lengths):
    """[batch, units]: those of the last step of each sequence, of [batch, steps, units]."""
    with ops.name_scope("select_last_activations", values=[activations, sequence_lengths]):
        shape = array_ops.shape(activations)
        batch, steps, units = shape[0], shape[1], shape[2]
        if sequence_lengths is None:
            sequence_lengths = steps
        starts = math_ops.cast(math_ops.range(batch) * steps, dtypes.int64)
        last = starts + math_ops.cast(sequence_lengths, dtypes.int64) - 1
        result = array_ops.gather(array_ops.reshape(activations, [batch * steps, units]), last)
        result.set_shape([activations.shape[0], activations.shape[2]])
        return result


def _rnn_logit_fn_builder(
    output_units,
    rnn_cell_fn,
    sequence_feature_columns,
    context_feature_columns,
    input_layer_partitioner,
    return_sequences=False,
):
    """A function (features, mode) to logits, of the last step or of all, and a mask of the steps."""
    if not isinstance(output_units, int):
        raise ValueError(f"output_units must be an int.  Given type: {type(output_units)}")

    def rnn_logit_fn(features, mode):
        with variable_scope.variable_scope(
            "sequence_input_layer", values=tuple(features.values()), partitioner=input_layer_partitioner
        ):
            sequence_input, lengths = seq_fc.sequence_input_layer(
                features=features, feature_columns=sequence_feature_columns
            )
            summary.histogram("sequence_length", lengths)
            if context_feature_columns:
                context = feature_column_lib.input_layer(
                    features=features, feature_columns=context_feature_columns
                )
                sequence_input = _concatenate_context_input(sequence_input, context)
        outputs, _ = rnn.dynamic_rnn(
            cell=rnn_cell_fn(mode),
            inputs=sequence_input,
            sequence_length=lengths,
            dtype=dtypes.float32,
            time_major=False,
        )
        if not return_sequences:
            outputs = _select_last_activations(outputs, lengths)
        with variable_scope.variable_scope("logits", values=(outputs,)):
            logits = core_layers.dense(
                outputs,
                units=output_units,
                activation=None,
                kernel_initializer=init_ops.glorot_uniform_initializer(),
            )
        return logits, array_ops.sequence_mask(lengths)

    return rnn_logit_fn


def _rnn_model_fn(
    features,
    labels,
    mode,
    head,
    rnn_cell_fn,
    sequence_feature_columns,
    context_feature_columns,
    return_sequences=False,
    optimizer="Adagrad",
    input_layer_partitioner=None,
    config=None,
):
    """The model function. Gradients of an optimizer that is given by its name are clipped."""
    if not isinstance(features, dict):
        raise ValueError(f"features should be a dictionary of `Tensor`s. Given type: {type(features)}")
    if not isinstance(optimizer, optimizer_lib.Optimizer):
        optimizer = optimizers.get_optimizer_instance(optimizer, learning_rate=_DEFAULT_LEARNING_RATE)
        optimizer = extenders.clip_gradients_by_norm(optimizer, _DEFAULT_CLIP_NORM)
    num_ps_replicas = config.num_ps_replicas if config else 0
    partitioner = partitioned_variables.min_max_variable_partitioner(max_partitions=num_ps_replicas)
    with variable_scope.variable_scope("rnn", values=tuple(features.values()), partitioner=partitioner):
        logit_fn = _rnn_logit_fn_builder(
            output_units=head.logits_dimension,
            rnn_cell_fn=rnn_cell_fn,
            sequence_feature_columns=sequence_feature_columns,
            context_feature_columns=context_feature_columns,
            input_layer_partitioner=input_layer_partitioner
            or partitioned_variables.min_max_variable_partitioner(
                max_partitions=num_ps_replicas, min_slice_size=64 << 20
            ),
            return_sequences=return_sequences,
        )
        logits, mask = logit_fn(features=features, mode=mode)
        if return_sequences and head.input_sequence_mask_key not in features:
            features[head.input_sequence_mask_key] = mask

        def _train_op_fn(loss):
            return optimizer.minimize(loss, global_step=training_util.get_global_step())

        return head.create_estimator_spec(
            features=features, mode=mode, labels=labels, train_op_fn=_train_op_fn, logits=logits
        )


def _assert_rnn_cell_fn(rnn_cell_fn, num_units, cell_type):
    if rnn_cell_fn and (num_units or cell_type != USE_DEFAULT):
        raise ValueError("num_units and cell_type must not be specified when using rnn_cell_fn")
    return rnn_cell_fn or _make_rnn_cell_fn(num_units, "basic_rnn" if cell_type == USE_DEFAULT else cell_type)


class _RNN(estimator.Estimator):
    """What the recurrent networks share."""

    def _init_rnn(self, head, sequence_columns, context_columns, model_dir, config, **model):
        def _model_fn(features, labels, mode, config):
            return _rnn_model_fn(
                features=features,
                labels=labels,
                mode=mode,
                head=head,
                sequence_feature_columns=tuple(sequence_columns or []),
                context_feature_columns=tuple(context_columns or []),
                config=config,
                **model,
            )

        super().__init__(model_fn=_model_fn, model_dir=model_dir, config=config)


class RNNClassifier(_RNN):
    """A recurrent network that chooses one of n_classes classes for a sequence.

    sequence_feature_columns: dense columns of sequences. context_feature_columns: dense columns of what is
    the same for all steps. num_units: the sizes of the layers. cell_type: "basic_rnn", "lstm", "gru" or a
    class of cells. rnn_cell_fn: a function from the mode to a cell, in place of these two. See
    tf.estimator.DNNClassifier.
    """

    def __init__(
        self,
        sequence_feature_columns,
        context_feature_columns=None,
        num_units=None,
        cell_type=USE_DEFAULT,
        rnn_cell_fn=None,
        model_dir=None,
        n_classes=2,
        weight_column=None,
        label_vocabulary=None,
        optimizer="Adagrad",
        loss_reduction=losses.Reduction.SUM_OVER_BATCH_SIZE,
        input_layer_partitioner=None,
        config=None,
    ):
        rnn_cell_fn = _assert_rnn_cell_fn(rnn_cell_fn, num_units, cell_type)
        self._init_rnn(
            head_lib._binary_logistic_or_multi_class_head(
                n_classes, weight_column, label_vocabulary, loss_reduction
            ),
            sequence_feature_columns,
            context_feature_columns,
            model_dir,
            config,
            rnn_cell_fn=rnn_cell_fn,
            optimizer=optimizer,
            input_layer_partitioner=input_layer_partitioner,
        )


class RNNEstimator(_RNN):
    """A recurrent network with a head of the program's choice. See RNNClassifier.

    return_sequences: logits for each step, for a head of sequences.
    """

    def __init__(
        self,
        head,
        sequence_feature_columns,
        context_feature_columns=None,
        num_units=None,
        cell_type=USE_DEFAULT,
        rnn_cell_fn=None,
        return_sequences=False,
        model_dir=None,
        optimizer="Adagrad",
        input_layer_partitioner=None,
        config=None,
    ):
        rnn_cell_fn = _assert_rnn_cell_fn(rnn_cell_fn, num_units, cell_type)
        if return_sequences and not isinstance(head, seq_head_lib._SequentialHead):
            raise ValueError(
                "Provided head must be a `_SequentialHead` object when `return_sequences` is set to True."
            )
        self._init_rnn(
            head,
            sequence_feature_columns,
            context_feature_columns,
            model_dir,
            config,
            rnn_cell_fn=rnn_cell_fn,
            return_sequences=return_sequences,
            optimizer=optimizer,
            input_layer_partitioner=input_layer_partitioner,
        )
