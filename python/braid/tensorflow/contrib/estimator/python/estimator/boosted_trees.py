"""Boosted trees that are trained at once on data in memory."""

from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.estimator.canned import boosted_trees as canned_boosted_trees


def _validate_input_fn_and_repeat_dataset(train_input_fn):
    """An input function whose dataset has no end: a step takes all data, and there are many steps."""

    def _input_fn():
        result = train_input_fn()
        return result.repeat() if isinstance(result, dataset_ops.Dataset) else result

    return _input_fn


def _train(train_input_fn, train_hooks, *args, **kwargs):
    """Makes an estimator by the arguments of _BoostedTreesBase, trains it, and returns it."""
    est = canned_boosted_trees._BoostedTreesBase(*args, n_batches_per_layer=1, train_in_memory=True, **kwargs)
    est.train(input_fn=_validate_input_fn_and_repeat_dataset(train_input_fn), hooks=train_hooks)
    return est


def boosted_trees_classifier_train_in_memory(
    train_input_fn,
    feature_columns,
    model_dir=None,
    n_classes=canned_boosted_trees._HOLD_FOR_MULTI_CLASS_SUPPORT,
    weight_column=None,
    label_vocabulary=None,
    n_trees=100,
    max_depth=6,
    learning_rate=0.1,
    l1_regularization=0.0,
    l2_regularization=0.0,
    tree_complexity=0.0,
    min_node_weight=0.0,
    config=None,
    train_hooks=None,
    center_bias=False,
    pruning_mode="none",
    quantile_sketch_epsilon=0.01,
):
    """A classifier, trained on the one batch that `train_input_fn` gives. See tf.estimator.BoostedTreesClassifier."""
    if n_classes is canned_boosted_trees._HOLD_FOR_MULTI_CLASS_SUPPORT:
        n_classes = 2
    head, closed_form = canned_boosted_trees._create_classification_head_and_closed_form(
        n_classes, weight_column, label_vocabulary=label_vocabulary
    )
    tree_hparams = canned_boosted_trees._TreeHParams(
        n_trees,
        max_depth,
        learning_rate,
        l1_regularization,
        l2_regularization,
        tree_complexity,
        min_node_weight,
        center_bias,
        pruning_mode,
        quantile_sketch_epsilon,
    )
    return _train(
        train_input_fn,
        train_hooks,
        feature_columns,
        head,
        is_classification=True,
        tree_hparams=tree_hparams,
        model_dir=model_dir,
        config=config,
        closed_form_grad_and_hess_fn=closed_form,
    )


def boosted_trees_regressor_train_in_memory(
    train_input_fn,
    feature_columns,
    model_dir=None,
    label_dimension=canned_boosted_trees._HOLD_FOR_MULTI_DIM_SUPPORT,
    weight_column=None,
    n_trees=100,
    max_depth=6,
    learning_rate=0.1,
    l1_regularization=0.0,
    l2_regularization=0.0,
    tree_complexity=0.0,
    min_node_weight=0.0,
    config=None,
    train_hooks=None,
    center_bias=False,
    pruning_mode="none",
    quantile_sketch_epsilon=0.01,
):
    """A regressor, trained on the one batch that `train_input_fn` gives. See tf.estimator.BoostedTreesRegressor."""
    if label_dimension is canned_boosted_trees._HOLD_FOR_MULTI_DIM_SUPPORT:
        label_dimension = 1
    tree_hparams = canned_boosted_trees._TreeHParams(
        n_trees,
        max_depth,
        learning_rate,
        l1_regularization,
        l2_regularization,
        tree_complexity,
        min_node_weight,
        center_bias,
        pruning_mode,
        quantile_sketch_epsilon,
    )
    return _train(
        train_input_fn,
        train_hooks,
        feature_columns,
        canned_boosted_trees._create_regression_head(label_dimension, weight_column),
        is_classification=False,
        tree_hparams=tree_hparams,
        model_dir=model_dir,
        config=config,
    )
