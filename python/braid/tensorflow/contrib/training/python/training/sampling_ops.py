"""Batches of examples that are chosen at random, in queues."""

from braid.tensorflow.python.framework import dtypes, ops
from braid.tensorflow.python.ops import (
    array_ops,
    check_ops,
    control_flow_ops,
    logging_ops,
    math_ops,
    random_ops,
    variable_scope,
)
from braid.tensorflow.python.training import input as input_ops


def _one_by_one(tensors, capacity, threads):
    """The examples of batches, through a queue."""
    taken = input_ops.batch(tensors, batch_size=1, num_threads=threads, capacity=capacity, enqueue_many=True)
    taken = taken if isinstance(taken, (list, tuple)) else [taken]
    return [array_ops.squeeze(x, [0]) for x in taken]


def rejection_sample(
    tensors,
    accept_prob_fn,
    batch_size,
    queue_threads=1,
    enqueue_many=False,
    prebatch_capacity=16,
    prebatch_threads=1,
    runtime_checks=False,
    name=None,
):
    """Batches of the examples that are accepted: accept_prob_fn(an example's tensors) is the probability.

    enqueue_many: the tensors are batches. runtime_checks: the probability is checked to lie in [0, 1].
    """
    with variable_scope.variable_scope(name, "rejection_sample", tensors):
        example = ops.convert_n_to_tensor_or_indexed_slices(tensors)
        if enqueue_many:
            example = _one_by_one(_verify_data_inputs(example), prebatch_capacity, prebatch_threads)
        probability = accept_prob_fn(example)
        if runtime_checks:
            checks = [
                check_ops.assert_less_equal(0.0, probability),
                check_ops.assert_less_equal(probability, 1.0),
            ]
            with ops.control_dependencies(checks):
                probability = array_ops.identity(probability, name="prob_with_checks")
        batch = input_ops.maybe_batch(
            example,
            keep_input=random_ops.random_uniform([]) < probability,
            batch_size=batch_size,
            num_threads=queue_threads,
        )
        return [batch] if isinstance(batch, ops.Tensor) else batch


def stratified_sample(
    tensors,
    labels,
    target_probs,
    batch_size,
    init_probs=None,
    enqueue_many=False,
    queue_capacity=16,
    threads_per_queue=1,
    name=None,
):
    """(batches of the tensors, their labels), in which classes have the proportions target_probs.

    init_probs: the proportions in the data; None: they are estimated from the labels that were seen.
    """
    with ops.name_scope(name, "stratified_sample", [*tensors, labels]):
        tensors = ops.convert_n_to_tensor_or_indexed_slices(tensors)
        labels = ops.convert_to_tensor(labels)
        target_probs = ops.convert_to_tensor(target_probs, dtype=dtypes.float32)
        if not enqueue_many:
            tensors = [array_ops.expand_dims(x, 0) for x in tensors]
            labels = array_ops.expand_dims(labels, 0)
        if init_probs is None:
            target_probs.get_shape().assert_is_fully_defined()
            init_probs = _estimate_data_distribution(labels, target_probs.get_shape().num_elements())
        else:
            init_probs = ops.convert_to_tensor(init_probs, dtype=dtypes.float32)
        tensors, labels, (init_probs, target_probs) = _verify_input(
            tensors, labels, [init_probs, target_probs]
        )
        can_be_had = math_ops.logical_or(math_ops.not_equal(init_probs, 0), math_ops.equal(target_probs, 0))
        check = control_flow_ops.Assert(
            math_ops.reduce_all(can_be_had),
            [
                "All classes with zero initial probability must also have zero target probability: ",
                init_probs,
                target_probs,
            ],
        )
        with ops.control_dependencies([check]):
            init_probs = array_ops.identity(init_probs)
        accept_probs = _calculate_acceptance_probabilities(init_probs, target_probs)
        rejected = math_ops.reduce_sum((1 - accept_probs) * init_probs)
        message = "Proportion of examples rejected by sampler is high."
        accept_probs = control_flow_ops.cond(
            math_ops.less(rejected, 0.5),
            lambda: accept_probs,
            lambda: logging_ops.Print(accept_probs, [accept_probs], message=message, first_n=10),
        )
        *example, label = _one_by_one([*tensors, labels], queue_capacity, threads_per_queue)
        *batch, label_batch = input_ops.maybe_batch(
            [*example, label],
            keep_input=random_ops.random_uniform([]) < array_ops.gather(accept_probs, label),
            batch_size=batch_size,
            num_threads=threads_per_queue,
        )
        return batch, label_batch


def _estimate_data_distribution(labels, num_classes, smoothing_constant=10):
    """The proportions of the classes among the labels that were seen; each counts as seen smoothing_constant
    times at the beginning."""
    if smoothing_constant <= 0:
        raise ValueError("smoothing_constant must be nonzero.")
    counts = variable_scope.variable(
        initial_value=[smoothing_constant] * num_classes,
        trainable=False,
        name="class_count",
        dtype=dtypes.int64,
    )
    seen = array_ops.one_hot(labels, num_classes, dtype=dtypes.int64)
    counts = counts.assign_add(math_ops.reduce_sum(seen, 0)) + 0  # + 0: other threads change the variable
    return math_ops.cast(math_ops.truediv(counts, math_ops.reduce_sum(counts)), dtypes.float32)


def _check_batch_dimension(tensor, like):
    shape = tensor.get_shape().with_rank_at_least(1)
    if shape.ndims is not None and like.get_shape().ndims is not None:
        shape.dims[0].assert_is_compatible_with(like.get_shape().dims[0])


def _verify_data_inputs(tensors):
    for x in tensors:
        _check_batch_dimension(x, tensors[0])
    return tensors


def _verify_input(tensors, labels, probs_list):
    """The arguments with checks of what is known when they run; ValueError: what is known now is wrong."""
    checked_probs = []
    for probs in probs_list:
        probs.get_shape().assert_is_fully_defined()
        probs.get_shape().assert_has_rank(1)
        total = math_ops.reduce_sum(probs)
        checks = [
            check_ops.assert_non_negative(probs),
            check_ops.assert_less(total, 1.0 + 1e-6),
            check_ops.assert_less(1.0 - 1e-6, total),
        ]
        checked_probs.append(control_flow_ops.with_dependencies(checks, probs))
    num_classes = checked_probs[0].get_shape().num_elements()
    if any(p.get_shape().num_elements() != num_classes for p in checked_probs):
        raise ValueError("Probability parameters must have the same length.")
    labels.get_shape().assert_has_rank(1)
    for x in tensors:
        _check_batch_dimension(x, labels)
    size = array_ops.shape(labels)[0]
    has_labels = check_ops.assert_positive(size)
    checked = [
        control_flow_ops.with_dependencies(
            [has_labels, check_ops.assert_equal(array_ops.shape(x)[0], size)], x
        )
        for x in tensors
    ]
    are_classes = [
        has_labels,
        check_ops.assert_integer(labels),
        check_ops.assert_non_negative(labels),
        check_ops.assert_less(labels, math_ops.cast(num_classes, labels.dtype)),
    ]
    return checked, control_flow_ops.with_dependencies(are_classes, labels), checked_probs


def _calculate_acceptance_probabilities(init_probs, target_probs):
    """The probabilities of keeping an example of each class. They are proportional to target / initial, and
    the largest is 1, so that as few as possible are rejected."""
    ratio = target_probs / init_probs
    ratio = array_ops.where(math_ops.is_nan(ratio), array_ops.zeros_like(ratio), ratio)  # 0 / 0
    return ratio / math_ops.reduce_max(ratio)
