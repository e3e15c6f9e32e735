"""optimize_loss: a training op from a loss, by names and numbers."""

from braid.tensorflow.contrib import framework as contrib_framework
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import clip_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops import variable_scope as vs
from braid.tensorflow.python.ops import variables as vars_
from braid.tensorflow.python.summary import summary
from braid.tensorflow.python.training import moving_averages
from braid.tensorflow.python.training import optimizer as optimizer_
from braid.tensorflow.python.training import training as train

OPTIMIZER_CLS_NAMES = {
    "Adagrad": train.AdagradOptimizer,
    "Adam": train.AdamOptimizer,
    "Ftrl": train.FtrlOptimizer,
    "Momentum": lambda learning_rate: train.MomentumOptimizer(learning_rate, momentum=0.9),
    "RMSProp": train.RMSPropOptimizer,
    "SGD": train.GradientDescentOptimizer,
}

OPTIMIZER_SUMMARIES = [
    "learning_rate",
    "loss",
    "gradients",
    "gradient_norm",
    "global_gradient_norm",
]

__all__ = ["optimize_loss", "adaptive_clipping_fn", "OPTIMIZER_CLS_NAMES", "OPTIMIZER_SUMMARIES"]


def optimize_loss(
    loss,
    global_step,
    learning_rate,
    optimizer,
    gradient_noise_scale=None,
    gradient_multipliers=None,
    clip_gradients=None,
    learning_rate_decay_fn=None,
    update_ops=None,
    variables=None,
    name=None,
    summaries=None,
    colocate_gradients_with_ops=False,
    increment_global_step=True,
):
    """A tensor of the loss that, when it is run, has trained the variables by one step.

    optimizer: a name of OPTIMIZER_CLS_NAMES, a class, an object, or a function of the learning rate or of
    nothing. clip_gradients: the largest norm of all gradients, or a function of (gradient, variable) pairs.
    learning_rate_decay_fn: a function of the rate and the global step. update_ops: UPDATE_OPS if None.
    """
    loss = ops.convert_to_tensor(loss)
    contrib_framework.assert_scalar(loss)
    if global_step is None:
        global_step = train.get_global_step()
    else:
        train.assert_global_step(global_step)
    with vs.variable_scope(name, "OptimizeLoss", [loss, global_step]):
        if update_ops is None:
            update_ops = set(ops.get_collection(ops.GraphKeys.UPDATE_OPS))
        if update_ops:
            loss = control_flow_ops.with_dependencies(list(update_ops), loss)
        if summaries is None:
            summaries = ["loss", "learning_rate", "global_gradient_norm"]
        else:
            for summ in summaries:
                if summ not in OPTIMIZER_SUMMARIES:
                    raise ValueError(
                        f"Summaries should be one of [{', '.join(OPTIMIZER_SUMMARIES)}], you provided {summ}."
                    )
        lr = _learning_rate(learning_rate, learning_rate_decay_fn, global_step, summaries)
        opt = _optimizer(optimizer, lr)
        if variables is None:
            variables = vars_.trainable_variables()
        gradients = opt.compute_gradients(
            loss, variables, colocate_gradients_with_ops=colocate_gradients_with_ops
        )
        if gradient_noise_scale is not None:
            gradients = _add_scaled_noise_to_gradients(gradients, gradient_noise_scale)
        if gradient_multipliers is not None:
            gradients = _multiply_gradients(gradients, gradient_multipliers)
            if not gradients:
                raise ValueError(
                    "Empty list of (gradient, var) pairs encountered. This is most likely to be "
                    "caused by an improper value of gradient_multipliers."
                )
        if "global_gradient_norm" in summaries or "gradient_norm" in summaries:
            summary.scalar("global_norm/gradient_norm", clip_ops.global_norm([g for g, _ in gradients]))
        if isinstance(clip_gradients, float):
            gradients = _clip_gradients_by_norm(gradients, clip_gradients)
        elif callable(clip_gradients):
            gradients = clip_gradients(gradients)
        elif clip_gradients is not None:
            raise ValueError(f"Unknown type {type(clip_gradients)} for clip_gradients")
        if "loss" in summaries:
            summary.scalar("loss", loss)
        _summarize_gradients(gradients, summaries)
        if clip_gradients is not None and (
            "global_gradient_norm" in summaries or "gradient_norm" in summaries
        ):
            summary.scalar(
                "global_norm/clipped_gradient_norm", clip_ops.global_norm([g for g, _ in gradients])
            )
        grad_updates = opt.apply_gradients(
            gradients, global_step=global_step if increment_global_step else None, name="train"
        )
        return control_flow_ops.with_dependencies([grad_updates], loss)


def _learning_rate(learning_rate, decay, global_step, summaries):
    if learning_rate is None:
        return None
    if isinstance(learning_rate, ops.Tensor) and learning_rate.get_shape().ndims == 0:
        lr = learning_rate
    elif isinstance(learning_rate, float):
        if learning_rate < 0.0:
            raise ValueError(f"Invalid learning_rate {learning_rate}.")
        lr = vs.get_variable(
            "learning_rate", [], trainable=False, initializer=init_ops.constant_initializer(learning_rate)
        )
    else:
        raise ValueError(
            f"Learning rate should be 0d Tensor or float. Got {learning_rate} of type {type(learning_rate)}"
        )
    if decay is not None:
        if global_step is None:
            raise ValueError("global_step is required for learning_rate_decay_fn.")
        lr = decay(lr, global_step)
    if "learning_rate" in summaries:
        summary.scalar("learning_rate", lr)
    return lr


def _optimizer(optimizer, lr):
    if isinstance(optimizer, str):
        if lr is None:
            raise ValueError(
                "Learning rate is None, but should be specified if optimizer is string (%s)." % optimizer
            )
        if optimizer not in OPTIMIZER_CLS_NAMES:
            raise ValueError(
                f"Optimizer name should be one of [{', '.join(OPTIMIZER_CLS_NAMES)}], you provided {optimizer}."
            )
        return OPTIMIZER_CLS_NAMES[optimizer](learning_rate=lr)
    if isinstance(optimizer, type) and issubclass(optimizer, optimizer_.Optimizer):
        if lr is None:
            raise ValueError(
                f"Learning rate is None, but should be specified if optimizer is class ({optimizer})."
            )
        return optimizer(learning_rate=lr)
    if isinstance(optimizer, optimizer_.Optimizer):
        return optimizer
    if callable(optimizer):
        made = optimizer(lr) if lr is not None else optimizer()
        if not isinstance(made, optimizer_.Optimizer):
            raise ValueError(
                "Unrecognized optimizer: function should return subclass of Optimizer. Got %s." % str(made)
            )
        return made
    raise ValueError(
        "Unrecognized optimizer: should be string, subclass of Optimizer, instance of subclass of Optimizer or "
        f"function with one argument. Got {optimizer}."
    )


def _summarize_gradients(gradients, summaries):
    for gradient, variable in gradients:
        values = gradient.values if isinstance(gradient, ops.IndexedSlices) else gradient
        if values is None:
            continue
        name = variable.name.replace(":", "_")
        if "gradients" in summaries:
            summary.histogram("gradients/%s" % name, values)
        if "gradient_norm" in summaries:
            summary.scalar("gradient_norm/%s" % name, clip_ops.global_norm([values]))


def _clip_gradients_by_norm(grads_and_vars, clip_gradients):
    gradients, variables = zip(*grads_and_vars)
    clipped, _ = clip_ops.clip_by_global_norm(gradients, clip_gradients)
    return list(zip(clipped, variables))


def _adaptive_max_norm(norm, std_factor, decay, global_step, epsilon, name):
    """A norm `std_factor` deviations above the mean of the logarithms of the norms so far."""
    with vs.variable_scope(name, "AdaptiveMaxNorm", [norm]):
        log_norm = math_ops.log(norm + epsilon)

        def moving_average(name, value, decay):
            variable = vs.get_variable(
                name,
                shape=value.get_shape(),
                dtype=value.dtype,
                initializer=init_ops.zeros_initializer(),
                trainable=False,
            )
            return moving_averages.assign_moving_average(variable, value, decay, zero_debias=False)

        if global_step is not None:
            n = math_ops.cast(global_step, dtypes.float32)
            decay = math_ops.minimum(decay, n / (n + 1.0))
        mean = moving_average("mean", log_norm, decay)
        sq_mean = moving_average("sq_mean", math_ops.square(log_norm), decay)
        variance = sq_mean - math_ops.square(mean)
        std = math_ops.sqrt(math_ops.maximum(epsilon, variance))
        return math_ops.exp(mean + std_factor * std), mean


def adaptive_clipping_fn(
    std_factor=2.0,
    decay=0.95,
    static_max_norm=None,
    global_step=None,
    report_summary=False,
    epsilon=1e-8,
    name=None,
):
    """A function for clip_gradients that scales down norms which are unusually large."""

    def gradient_clipping(grads_and_vars):
        grads, variables = zip(*grads_and_vars)
        norm = clip_ops.global_norm(grads)
        max_norm, log_mean = _adaptive_max_norm(norm, std_factor, decay, global_step, epsilon, name)
        if report_summary:
            summary.scalar("global_norm/adaptive_max_gradient_norm", max_norm)
        factor = array_ops.where(norm < max_norm, array_ops.ones_like(norm), math_ops.exp(log_mean) / norm)
        if static_max_norm is not None:
            factor = math_ops.minimum(static_max_norm / norm, factor)
        clipped = []
        for grad in grads:
            if grad is None:
                clipped.append(None)
            elif isinstance(grad, ops.IndexedSlices):
                clipped.append(ops.IndexedSlices(grad.values * factor, grad.indices, grad.dense_shape))
            else:
                clipped.append(grad * factor)
        return list(zip(clipped, variables))

    return gradient_clipping


def _add_scaled_noise_to_gradients(grads_and_vars, gradient_noise_scale):
    noisy = []
    for gradient, variable in grads_and_vars:
        if gradient is None:
            noisy.append(None)
            continue
        shape = gradient.dense_shape if isinstance(gradient, ops.IndexedSlices) else gradient.get_shape()
        noise = random_ops.truncated_normal(shape) * gradient_noise_scale
        noisy.append(gradient + noise)
    return list(zip(noisy, [variable for _, variable in grads_and_vars]))


def _multiply_gradients(grads_and_vars, gradient_multipliers):
    """The gradients times the numbers by variable, or by the name of a variable; without those times 0."""
    multiplied = []
    for grad, var in grads_and_vars:
        multiplier = None
        for key, value in gradient_multipliers.items():
            if key is var or key == var.name:
                multiplier = value
        if grad is not None and multiplier is not None:
            factor = (
                constant_op.constant(multiplier, dtype=dtypes.float32)
                if not isinstance(multiplier, ops.Tensor)
                else multiplier
            )
            if isinstance(grad, ops.IndexedSlices):
                grad = ops.IndexedSlices(grad.values * factor, grad.indices, grad.dense_shape)
            else:
                grad *= math_ops.cast(factor, grad.dtype)
        multiplied.append((grad, var))
    return multiplied
