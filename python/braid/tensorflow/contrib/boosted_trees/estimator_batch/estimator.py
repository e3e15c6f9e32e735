"""Estimators of gradient boosted trees, which grow by layers.

Arguments are those of the classes; estimators of tf.contrib.learn have fit(), the others train().
"""

import functools

from braid.tensorflow.contrib.boosted_trees.estimator_batch import custom_loss_head, model
from braid.tensorflow.contrib.boosted_trees.python.utils import losses
from braid.tensorflow.contrib.learn.python.learn.estimators import estimators
from braid.tensorflow.contrib.learn.python.learn.estimators import head as head_lib
from braid.tensorflow.python.estimator import estimator as core_estimator
from braid.tensorflow.python.estimator.canned import head as core_head_lib
from braid.tensorflow.python.ops import array_ops, math_ops
from braid.tensorflow.python.ops.losses import losses as core_losses


def _check_quantiles(quantiles):
    if len(quantiles) > 1:
        raise ValueError("For now, just one quantile per estimator is supported")


class _BoostedTrees(estimators.Estimator):
    """An estimator of tf.contrib.learn.

    Args:
      learner_config: a LearnerConfig.
      examples_per_layer: after how many a layer is grown; or a function from the depth of the layer.
      num_trees: after how many training ends; None: after max_steps.
      feature_columns: a list of columns; None: features as they are.
      weight_column_name: of the feature that is the examples' weight.
      model_dir, config: as tf.estimator's.
      feature_engineering_fn: None.
      logits_modifier_function: (logits, features, mode) -> logits.
      center_bias: fits a bias first; not for several logits.
      use_core_libs: columns and head are tf.estimator's.
      output_leaf_index: predictions have "leaf_index", the leaf of each tree.
      override_global_step_value: what the global step is set to when num_trees are grown.
      num_quantiles: about how many buckets a feature has.
    """

    def _build(self, head, model_fn, model_dir, config, feature_engineering_fn, **params):
        super().__init__(
            model_fn=model_fn,
            params=dict(params, head=head),
            model_dir=model_dir,
            config=config,
            feature_engineering_fn=feature_engineering_fn,
        )


class GradientBoostedDecisionTreeClassifier(_BoostedTrees):
    """Classes, by the maximum entropy loss, and two of them by the logistic loss."""

    def __init__(
        self,
        learner_config,
        examples_per_layer,
        n_classes=2,
        num_trees=None,
        feature_columns=None,
        weight_column_name=None,
        model_dir=None,
        config=None,
        label_keys=None,
        feature_engineering_fn=None,
        logits_modifier_function=None,
        center_bias=True,
        use_core_libs=False,
        output_leaf_index=False,
        override_global_step_value=None,
        num_quantiles=100,
    ):
        loss_fn = None
        if n_classes > 2:

            def loss_fn(labels, logits, weights=None):
                loss, _ = losses.per_example_maxent_loss(labels, weights, logits, n_classes)
                return math_ops.reduce_mean(loss)

        head = head_lib.multi_class_head(
            n_classes=n_classes,
            weight_column_name=weight_column_name,
            enable_centered_bias=False,
            loss_fn=loss_fn,
            label_keys=label_keys,
        )
        if learner_config.num_classes == 0:
            learner_config.num_classes = n_classes
        elif learner_config.num_classes != n_classes:
            raise ValueError(
                f"n_classes ({n_classes}) doesn't match learner_config ({learner_config.num_classes})."
            )
        self._build(
            head,
            model.model_builder,
            model_dir,
            config,
            feature_engineering_fn,
            learner_config=learner_config,
            examples_per_layer=examples_per_layer,
            num_trees=num_trees,
            feature_columns=feature_columns,
            weight_column_name=weight_column_name,
            logits_modifier_function=logits_modifier_function,
            center_bias=center_bias,
            use_core_libs=use_core_libs,
            output_leaf_index=output_leaf_index,
            override_global_step_value=override_global_step_value,
            num_quantiles=num_quantiles,
        )


class GradientBoostedDecisionTreeRegressor(_BoostedTrees):
    """Regressions, by the squared error. output_leaf_index has no effect, as in TensorFlow."""

    def __init__(
        self,
        learner_config,
        examples_per_layer,
        label_dimension=1,
        num_trees=None,
        feature_columns=None,
        label_name=None,
        weight_column_name=None,
        model_dir=None,
        config=None,
        feature_engineering_fn=None,
        logits_modifier_function=None,
        center_bias=True,
        use_core_libs=False,
        output_leaf_index=False,
        override_global_step_value=None,
        num_quantiles=100,
    ):
        head = head_lib.regression_head(
            label_name=label_name,
            label_dimension=label_dimension,
            weight_column_name=weight_column_name,
            enable_centered_bias=False,
        )
        learner_config.num_classes = max(2, label_dimension)
        self._build(
            head,
            model.model_builder,
            model_dir,
            config,
            feature_engineering_fn,
            learner_config=learner_config,
            examples_per_layer=examples_per_layer,
            num_trees=num_trees,
            feature_columns=feature_columns,
            weight_column_name=weight_column_name,
            logits_modifier_function=logits_modifier_function,
            center_bias=center_bias,
            use_core_libs=use_core_libs,
            output_leaf_index=False,
            override_global_step_value=override_global_step_value,
            num_quantiles=num_quantiles,
        )


class GradientBoostedDecisionTreeEstimator(_BoostedTrees):
    """Any head. output_leaf_index has no effect, as in TensorFlow."""

    def __init__(
        self,
        learner_config,
        examples_per_layer,
        head,
        num_trees=None,
        feature_columns=None,
        weight_column_name=None,
        model_dir=None,
        config=None,
        feature_engineering_fn=None,
        logits_modifier_function=None,
        center_bias=True,
        use_core_libs=False,
        output_leaf_index=False,
        override_global_step_value=None,
        num_quantiles=100,
    ):
        self._build(
            head,
            model.model_builder,
            model_dir,
            config,
            feature_engineering_fn,
            learner_config=learner_config,
            examples_per_layer=examples_per_layer,
            num_trees=num_trees,
            feature_columns=feature_columns,
            weight_column_name=weight_column_name,
            logits_modifier_function=logits_modifier_function,
            center_bias=center_bias,
            use_core_libs=use_core_libs,
            output_leaf_index=False,
            override_global_step_value=override_global_step_value,
            num_quantiles=num_quantiles,
        )


class GradientBoostedDecisionTreeRanker(_BoostedTrees):
    """Pairs of examples, whose features are called "a.x" and "b.x" for ranking_model_pair_keys ("a", "b")."""

    def __init__(
        self,
        learner_config,
        examples_per_layer,
        head,
        ranking_model_pair_keys,
        num_trees=None,
        feature_columns=None,
        weight_column_name=None,
        model_dir=None,
        config=None,
        label_keys=None,
        feature_engineering_fn=None,
        logits_modifier_function=None,
        center_bias=False,
        use_core_libs=False,
        output_leaf_index=False,
        override_global_step_value=None,
        num_quantiles=100,
    ):
        self._build(
            head,
            model.ranking_model_builder,
            model_dir,
            config,
            feature_engineering_fn,
            learner_config=learner_config,
            examples_per_layer=examples_per_layer,
            num_trees=num_trees,
            feature_columns=feature_columns,
            weight_column_name=weight_column_name,
            logits_modifier_function=logits_modifier_function,
            center_bias=center_bias,
            use_core_libs=use_core_libs,
            output_leaf_index=output_leaf_index,
            ranking_model_pair_keys=ranking_model_pair_keys,
            override_global_step_value=override_global_step_value,
            num_quantiles=num_quantiles,
        )


class GradientBoostedDecisionTreeQuantileRegressor(_BoostedTrees):
    """A quantile: `quantiles` is a list of one."""

    def __init__(
        self,
        learner_config,
        examples_per_layer,
        quantiles,
        label_dimension=1,
        num_trees=None,
        feature_columns=None,
        weight_column_name=None,
        model_dir=None,
        config=None,
        feature_engineering_fn=None,
        logits_modifier_function=None,
        center_bias=True,
        use_core_libs=False,
        output_leaf_index=False,
        override_global_step_value=None,
        num_quantiles=100,
    ):
        _check_quantiles(quantiles)
        head = custom_loss_head.CustomLossHead(
            loss_fn=functools.partial(losses.per_example_quantile_regression_loss, quantile=quantiles[0]),
            link_fn=array_ops.identity,
            logit_dimension=label_dimension,
        )
        learner_config.num_classes = max(2, label_dimension)
        self._build(
            head,
            model.model_builder,
            model_dir,
            config,
            feature_engineering_fn,
            learner_config=learner_config,
            examples_per_layer=examples_per_layer,
            num_trees=num_trees,
            feature_columns=feature_columns,
            weight_column_name=weight_column_name,
            logits_modifier_function=logits_modifier_function,
            center_bias=center_bias,
            use_core_libs=use_core_libs,
            output_leaf_index=False,
            override_global_step_value=override_global_step_value,
            num_quantiles=num_quantiles,
        )


def core_multiclass_head(
    n_classes, weight_column=None, loss_reduction=core_losses.Reduction.SUM_OVER_NONZERO_WEIGHTS
):
    """A head of tf.estimator of the maximum entropy loss."""

    def loss_fn(labels, logits):
        return losses.per_example_maxent_loss(labels, None, logits, n_classes)[0]

    return core_head_lib._multi_class_head_with_softmax_cross_entropy_loss(
        n_classes=n_classes, loss_fn=loss_fn, loss_reduction=loss_reduction, weight_column=weight_column
    )


def core_quantile_regression_head(
    quantiles,
    label_dimension=1,
    weight_column=None,
    loss_reduction=core_losses.Reduction.SUM_OVER_NONZERO_WEIGHTS,
):
    """A head of tf.estimator of the loss of a quantile, a number."""

    def loss_fn(labels, logits):
        return losses.per_example_quantile_regression_loss(labels, None, logits, quantiles)[0]

    return core_head_lib._regression_head(
        label_dimension=label_dimension,
        loss_fn=loss_fn,
        loss_reduction=loss_reduction,
        weight_column=weight_column,
    )


class _CoreBoostedTrees(core_estimator.Estimator):
    """An estimator of tf.estimator. Arguments are those of _BoostedTrees."""

    def _build(self, head, model_builder, model_dir, config, **params):
        params = dict(params, head=head, use_core_libs=True, override_global_step_value=None)

        def model_fn(features, labels, mode, config):
            return model_builder(
                features,
                labels,
                mode,
                params,
                config,
                output_type=model.ModelBuilderOutputType.ESTIMATOR_SPEC,
            )

        super().__init__(model_fn=model_fn, model_dir=model_dir, config=config)


class CoreGradientBoostedDecisionTreeEstimator(_CoreBoostedTrees):
    """Any head of tf.estimator. label_keys and feature_engineering_fn have no effect, as in TensorFlow."""

    def __init__(
        self,
        learner_config,
        examples_per_layer,
        head,
        num_trees=None,
        feature_columns=None,
        weight_column_name=None,
        model_dir=None,
        config=None,
        label_keys=None,
        feature_engineering_fn=None,
        logits_modifier_function=None,
        center_bias=True,
        output_leaf_index=False,
        num_quantiles=100,
    ):
        self._build(
            head,
            model.model_builder,
            model_dir,
            config,
            learner_config=learner_config,
            examples_per_layer=examples_per_layer,
            num_trees=num_trees,
            feature_columns=feature_columns,
            weight_column_name=weight_column_name,
            center_bias=center_bias,
            logits_modifier_function=logits_modifier_function,
            output_leaf_index=output_leaf_index,
            num_quantiles=num_quantiles,
        )


class CoreGradientBoostedDecisionTreeRanker(_CoreBoostedTrees):
    """As GradientBoostedDecisionTreeRanker. label_keys has no effect, as in TensorFlow."""

    def __init__(
        self,
        learner_config,
        examples_per_layer,
        head,
        ranking_model_pair_keys,
        num_trees=None,
        feature_columns=None,
        weight_column_name=None,
        model_dir=None,
        config=None,
        label_keys=None,
        logits_modifier_function=None,
        center_bias=False,
        output_leaf_index=False,
        num_quantiles=100,
    ):
        self._build(
            head,
            model.ranking_model_builder,
            model_dir,
            config,
            learner_config=learner_config,
            examples_per_layer=examples_per_layer,
            num_trees=num_trees,
            feature_columns=feature_columns,
            weight_column_name=weight_column_name,
            center_bias=center_bias,
            logits_modifier_function=logits_modifier_function,
            output_leaf_index=output_leaf_index,
            ranking_model_pair_keys=ranking_model_pair_keys,
            num_quantiles=num_quantiles,
        )


class CoreGradientBoostedDecisionTreeQuantileRegressor(_CoreBoostedTrees):
    """As GradientBoostedDecisionTreeQuantileRegressor, of tf.estimator."""

    def __init__(
        self,
        learner_config,
        examples_per_layer,
        quantiles,
        label_dimension=1,
        num_trees=None,
        feature_columns=None,
        weight_column_name=None,
        model_dir=None,
        config=None,
        label_keys=None,
        feature_engineering_fn=None,
        logits_modifier_function=None,
        center_bias=True,
        output_leaf_index=False,
        num_quantiles=100,
    ):
        _check_quantiles(quantiles)
        head = core_quantile_regression_head(
            quantiles[0], label_dimension=label_dimension, weight_column=weight_column_name
        )
        self._build(
            head,
            model.model_builder,
            model_dir,
            config,
            learner_config=learner_config,
            examples_per_layer=examples_per_layer,
            num_trees=num_trees,
            feature_columns=feature_columns,
            weight_column_name=weight_column_name,
            center_bias=center_bias,
            logits_modifier_function=logits_modifier_function,
            output_leaf_index=output_leaf_index,
            num_quantiles=num_quantiles,
        )
