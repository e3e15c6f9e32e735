"""Graphs that train and evaluate a random forest.

A tree is a resource on a device. A batch goes through the tree to its leaves; there its examples make splits
that the leaf considers, or are counted for each of them. A leaf that has counted enough is split.
"""

import math
import numbers
import random

from google.protobuf import text_format

from braid.tensorflow.contrib.decision_trees.proto import generic_tree_model_pb2 as _tree_proto
from braid.tensorflow.contrib.framework.python.ops import variables as framework_variables
from braid.tensorflow.contrib.tensor_forest.proto import tensor_forest_params_pb2 as _params_proto
from braid.tensorflow.contrib.tensor_forest.python.ops import data_ops, model_ops, stats_ops
from braid.tensorflow.python.framework import dtypes, ops
from braid.tensorflow.python.ops import (
    array_ops,
    control_flow_ops,
    math_ops,
    random_ops,
    variable_scope,
)
from braid.tensorflow.python.ops import variables as tf_variables
from braid.tensorflow.python.platform import tf_logging as logging

CLASSIFICATION_LEAF_MODEL_TYPES = {
    "all_dense": (_params_proto.MODEL_DENSE_CLASSIFICATION, _params_proto.STATS_DENSE_GINI),
    "all_sparse": (_params_proto.MODEL_SPARSE_CLASSIFICATION, _params_proto.STATS_SPARSE_GINI),
    "sparse_then_dense": (
        _params_proto.MODEL_SPARSE_OR_DENSE_CLASSIFICATION,
        _params_proto.STATS_SPARSE_THEN_DENSE_GINI,
    ),
}
REGRESSION_MODEL_TYPE = (
    _params_proto.MODEL_REGRESSION,
    _params_proto.STATS_LEAST_SQUARES_REGRESSION,
    _params_proto.COLLECTION_BASIC,
)
FINISH_TYPES = {
    "basic": _params_proto.SPLIT_FINISH_BASIC,
    "hoeffding": _params_proto.SPLIT_FINISH_DOMINATE_HOEFFDING,
    "bootstrap": _params_proto.SPLIT_FINISH_DOMINATE_BOOTSTRAP,
}
PRUNING_TYPES = {
    "none": _params_proto.SPLIT_PRUNE_NONE,
    "half": _params_proto.SPLIT_PRUNE_HALF,
    "quarter": _params_proto.SPLIT_PRUNE_QUARTER,
    "10_percent": _params_proto.SPLIT_PRUNE_10_PERCENT,
    "hoeffding": _params_proto.SPLIT_PRUNE_HOEFFDING,
}
SPLIT_TYPES = {
    "less_or_equal": _tree_proto.InequalityTest.LESS_OR_EQUAL,
    "less": _tree_proto.InequalityTest.LESS_THAN,
}


def parse_number_or_string_to_proto(proto, param):
    """Sets a DepthDependentParam to a number, or to what a string says in text format."""
    if isinstance(param, numbers.Number):
        proto.constant_value = param
    elif param.isdigit():
        proto.constant_value = int(param)
    else:
        text_format.Merge(param, proto)


def build_params_proto(params):
    """The TensorForestParams of a ForestHParams that was filled. Those of its param_file go before its own."""
    proto = _params_proto.TensorForestParams()
    proto.num_trees = params.num_trees
    proto.max_nodes = params.max_nodes
    proto.is_regression = params.regression
    proto.num_outputs = params.num_classes
    proto.num_features = params.num_features
    proto.leaf_type = params.leaf_model_type
    proto.stats_type = params.stats_model_type
    proto.collection_type = _params_proto.COLLECTION_BASIC
    proto.pruning_type.type = params.pruning_type
    proto.finish_type.type = params.finish_type
    proto.inequality_test_type = params.split_type
    proto.drop_final_class = False
    proto.collate_examples = params.collate_examples
    proto.checkpoint_stats = params.checkpoint_stats
    proto.use_running_stats_method = params.use_running_stats_method
    proto.initialize_average_splits = params.initialize_average_splits
    proto.inference_tree_paths = params.inference_tree_paths
    for field, param in (
        (proto.pruning_type.prune_every_samples, params.prune_every_samples),
        (proto.finish_type.check_every_steps, params.early_finish_check_every_samples),
        (proto.split_after_samples, params.split_after_samples),
        (proto.num_splits_to_consider, params.num_splits_to_consider),
    ):
        parse_number_or_string_to_proto(field, param)
    proto.dominate_fraction.constant_value = params.dominate_fraction
    if params.param_file:
        with open(params.param_file) as f:
            text_format.Merge(f.read(), proto)
    return proto


class ForestHParams:
    """The hyperparameters of a forest; fill() completes them.

    Args:
      num_trees, max_nodes: trees of the forest, and nodes of a tree.
      bagging_fraction: the part of a batch that each tree gets.
      num_splits_to_consider: splits that each leaf considers. 0: the square root of the number of features,
        between 10 and 1000.
      feature_bagging_fraction: the part of the features that each tree gets.
      max_fertile_nodes, valid_leaf_threshold, dominate_method: not used.
      split_after_samples: the weight of examples after which a leaf is split.
      dominate_fraction: how sure it is to be that a split is the best one, where a leaf is finished early.
      model_name: "all_dense", or "all_sparse" for many classes.
      split_finish_name: "basic", or "hoeffding" or "bootstrap", which need min_split_samples of a param_file.
      split_pruning_name: how many of the splits are dropped now and then: "none", "half", "quarter",
        "10_percent", or "hoeffding".
      prune_every_samples, early_finish_check_every_samples: how often that is done.
      collate_examples: examples of a batch are taken leaf by leaf.
      checkpoint_stats: checkpoints have the statistics of leaves.
      use_running_stats_method: impurities are kept up to date, and not computed when they are needed.
      initialize_average_splits: thresholds are moved between two examples of different classes.
      inference_tree_paths: inference gives the way of each example through the trees.
      param_file: a file with a TensorForestParams in text format.
      split_name: "less_or_equal" or "less".

    num_classes (of a regression: outputs) and num_features are to be given. Other arguments become
    attributes: regression, base_random_seed.

    num_splits_to_consider, split_after_samples, prune_every_samples and early_finish_check_every_samples
    may be strings: a DepthDependentParam in text format.
    """

    def __init__(
        self,
        num_trees=100,
        max_nodes=10000,
        bagging_fraction=1.0,
        num_splits_to_consider=0,
        feature_bagging_fraction=1.0,
        max_fertile_nodes=0,
        split_after_samples=250,
        valid_leaf_threshold=1,
        dominate_method="bootstrap",
        dominate_fraction=0.99,
        model_name="all_dense",
        split_finish_name="basic",
        split_pruning_name="none",
        prune_every_samples=0,
        early_finish_check_every_samples=0,
        collate_examples=False,
        checkpoint_stats=False,
        use_running_stats_method=False,
        initialize_average_splits=False,
        inference_tree_paths=False,
        param_file=None,
        split_name="less_or_equal",
        **kwargs,
    ):
        self.num_trees = num_trees
        self.max_nodes = max_nodes
        self.bagging_fraction = bagging_fraction
        self.feature_bagging_fraction = feature_bagging_fraction
        self.num_splits_to_consider = num_splits_to_consider
        self.max_fertile_nodes = max_fertile_nodes
        self.split_after_samples = split_after_samples
        self.valid_leaf_threshold = valid_leaf_threshold
        self.dominate_method = dominate_method
        self.dominate_fraction = dominate_fraction
        self.model_name = model_name
        self.split_finish_name = split_finish_name
        self.split_pruning_name = split_pruning_name
        self.collate_examples = collate_examples
        self.checkpoint_stats = checkpoint_stats
        self.use_running_stats_method = use_running_stats_method
        self.initialize_average_splits = initialize_average_splits
        self.inference_tree_paths = inference_tree_paths
        self.param_file = param_file
        self.split_name = split_name
        self.early_finish_check_every_samples = early_finish_check_every_samples
        self.prune_every_samples = prune_every_samples
        for name, value in kwargs.items():
            setattr(self, name, value)

    def values(self):
        return self.__dict__

    def _part_of_split_after_samples(self, divisor, name):
        """A default that follows from split_after_samples, which is a number."""
        samples = self.split_after_samples
        if not (isinstance(samples, numbers.Number) or samples.isdigit()):
            raise ValueError(f"Must specify {name} if using a depth-dependent split_after_samples")
        return int(samples) / divisor

    def fill(self):
        """Sets what was not given. Returns self."""
        for name in ("num_classes", "num_features"):
            getattr(self, name)
        self.bagged_num_features = int(self.feature_bagging_fraction * self.num_features)
        self.bagged_features = None
        if self.feature_bagging_fraction < 1.0:
            self.bagged_features = [
                random.sample(range(self.num_features), self.bagged_num_features)
                for _ in range(self.num_trees)
            ]
        self.regression = getattr(self, "regression", False)
        self.num_outputs = self.num_classes if self.regression else 1
        self.num_output_columns = self.num_classes + 1
        self.num_splits_to_consider = self.num_splits_to_consider or min(
            max(10, math.floor(math.sqrt(self.num_features))), 1000
        )
        # Tree i is seeded by base_random_seed + i, and by a random number where that is 0.
        self.base_random_seed = getattr(self, "base_random_seed", 0)
        types = REGRESSION_MODEL_TYPE if self.regression else CLASSIFICATION_LEAF_MODEL_TYPES[self.model_name]
        self.leaf_model_type, self.stats_model_type = types[:2]
        self.finish_type = (
            _params_proto.SPLIT_FINISH_BASIC if self.regression else FINISH_TYPES[self.split_finish_name]
        )
        self.pruning_type = PRUNING_TYPES[self.split_pruning_name]
        if self.pruning_type == _params_proto.SPLIT_PRUNE_NONE:
            self.prune_every_samples = 0
        elif not self.prune_every_samples:
            self.prune_every_samples = self._part_of_split_after_samples(2, "prune_every_samples")
        if self.finish_type == _params_proto.SPLIT_FINISH_BASIC:
            self.early_finish_check_every_samples = 0
        elif not self.early_finish_check_every_samples:
            self.early_finish_check_every_samples = self._part_of_split_after_samples(
                4, "early_finish_check_every_samples"
            )
        self.split_type = SPLIT_TYPES[self.split_name]
        return self


def get_epoch_variable():
    """The epoch of tf.train.limit_epochs as a vector; [0]: there is none."""
    for v in tf_variables.local_variables():
        if "limit_epochs/epoch" in v.op.name:
            return array_ops.reshape(v, [1])
    return [0]


class TreeVariables:
    """The resources of a tree: `tree`, and `stats` where it is trained."""

    def __init__(self, params, tree_num, training, tree_config="", tree_stat=""):
        if not isinstance(getattr(params, "params_proto", None), _params_proto.TensorForestParams):
            params.params_proto = build_params_proto(params)
        params.serialized_params_proto = params.params_proto.SerializeToString()
        self.stats = None
        if training:
            self.stats = stats_ops.fertile_stats_variable(
                params, tree_stat, self.get_tree_name("stats", tree_num)
            )
        self.tree = model_ops.tree_variable(
            params, tree_config, self.stats, self.get_tree_name("tree", tree_num)
        )

    def get_tree_name(self, name, num):
        return f"{name}-{num}"


class ForestVariables:
    """The resources of all trees, by their numbers.

    Each tree lies on the device of an empty variable, which the device assigner has placed.
    """

    def __init__(
        self,
        params,
        device_assigner,
        training=True,
        tree_variables_class=TreeVariables,
        tree_configs=None,
        tree_stats=None,
    ):
        self.variables = []
        self.device_dummies = []
        with ops.device(device_assigner):
            for i in range(params.num_trees):
                self.device_dummies.append(variable_scope.get_variable(name="device_dummy_%d" % i, shape=0))
        for i in range(params.num_trees):
            with ops.device(self.device_dummies[i].device):
                kwargs = {}
                if tree_configs is not None:
                    kwargs["tree_config"] = tree_configs[i]
                if tree_stats is not None:
                    kwargs["tree_stat"] = tree_stats[i]
                self.variables.append(tree_variables_class(params, i, training, **kwargs))

    def __setitem__(self, t, val):
        self.variables[t] = val

    def __getitem__(self, t):
        return self.variables[t]


class RandomForestGraphs:
    """Graphs of a forest.

    Args:
      params: a ForestHParams that was filled.
      tree_configs, tree_stats: serialized trees and statistics to begin with, one for each tree.
      device_assigner: the device of each tree's variable; see ForestVariables.
      variables: a ForestVariables in place of a new one.
      tree_variables_class: in place of TreeVariables.
      tree_graphs: in place of RandomTreeGraphs.
      training: whether there are statistics.
    """

    def __init__(
        self,
        params,
        tree_configs=None,
        tree_stats=None,
        device_assigner=None,
        variables=None,
        tree_variables_class=TreeVariables,
        tree_graphs=None,
        training=True,
    ):
        self.params = params
        self.device_assigner = device_assigner or framework_variables.VariableDeviceChooser()
        logging.info("Constructing forest with params = ")
        logging.info(self.params.__dict__)
        self.variables = variables or ForestVariables(
            self.params,
            device_assigner=self.device_assigner,
            training=training,
            tree_variables_class=tree_variables_class,
            tree_configs=tree_configs,
            tree_stats=tree_stats,
        )
        tree_graph_class = tree_graphs or RandomTreeGraphs
        self.trees = [
            tree_graph_class(self.variables[i], self.params, i) for i in range(self.params.num_trees)
        ]

    def _bag_features(self, tree_num, input_data):
        columns = array_ops.split(value=input_data, num_or_size_splits=self.params.num_features, axis=1)
        return array_ops.concat([columns[i] for i in self.params.bagged_features[tree_num]], 1)

    def _tree_features(self, tree_num, dense, sparse):
        if not self.params.bagged_features:
            return dense
        if sparse is not None:
            raise NotImplementedError("Feature bagging not supported with sparse features.")
        return self._bag_features(tree_num, dense)

    def get_all_resource_handles(self):
        count = len(self.trees)
        return [self.variables[i].tree for i in range(count)] + [
            self.variables[i].stats for i in range(count)
        ]

    def _bag(self, dense, sparse, labels, seed):
        """The examples that a tree gets, drawn without replacement."""
        if sparse is not None:
            raise NotImplementedError("Bagging not supported with sparse features.")
        batch_size = array_ops.strided_slice(array_ops.shape(dense), [0], [1])
        r = random_ops.random_uniform(batch_size, seed=seed)
        mask = math_ops.less(r, array_ops.ones_like(r) * self.params.bagging_fraction)
        indices = array_ops.squeeze(array_ops.where_v2(mask), axis=[1])
        return array_ops.gather(dense, indices), array_ops.gather(labels, indices)

    def training_graph(self, input_data, input_labels, num_trainers=1, trainer_id=0, **tree_kwargs):
        """The operation that trains by a batch.

        Args:
          input_data: a matrix, a SparseTensor, or a dict of columns.
          input_labels: the classes of the examples, or their targets.
          num_trainers, trainer_id: trainers divide the trees among them.
          **tree_kwargs: for training_graph of each tree: input_weights.
        """
        dense, sparse, data_spec = data_ops.ParseDataTensorOrDict(input_data)
        labels = None if input_labels is None else data_ops.ParseLabelTensorOrDict(input_labels)
        trees = []
        trees_per_trainer = self.params.num_trees / num_trainers
        first, last = int(trainer_id * trees_per_trainer), int((trainer_id + 1) * trees_per_trainer)
        for i in range(first, last):
            with ops.device(self.variables.device_dummies[i].device):
                seed = self.params.base_random_seed
                if seed != 0:
                    seed += i
                tree_data, tree_labels = dense, labels
                if self.params.bagging_fraction < 1.0:
                    tree_data, tree_labels = self._bag(dense, sparse, labels, seed)
                trees.append(
                    self.trees[i].training_graph(
                        self._tree_features(i, tree_data, sparse),
                        tree_labels,
                        seed,
                        data_spec=data_spec,
                        sparse_features=sparse,
                        **tree_kwargs,
                    )
                )
        return control_flow_ops.group(*trees, name="train")

    def inference_graph(self, input_data, **inference_args):
        """What the forest says of a batch, whose columns are those of the training.

        Returns:
          The mean of the trees' probabilities (of a regression: outputs) [examples, num_classes], the ways
          through the trees [examples or 0, trees], and the variances of the trees' probabilities.
        """
        dense, sparse, data_spec = data_ops.ParseDataTensorOrDict(input_data)
        probabilities, paths = [], []
        for i in range(self.params.num_trees):
            with ops.device(self.variables.device_dummies[i].device):
                probs, path = self.trees[i].inference_graph(
                    self._tree_features(i, dense, sparse),
                    data_spec,
                    sparse_features=sparse,
                    **inference_args,
                )
                probabilities.append(probs)
                paths.append(path)
        with ops.device(self.variables.device_dummies[0].device):
            every = array_ops.stack(probabilities, axis=1)
            average = math_ops.div(math_ops.reduce_sum(every, 1), self.params.num_trees, name="probabilities")
            tree_paths = array_ops.stack(paths, axis=1)
            squares = math_ops.div(math_ops.reduce_sum(every * every, 1), self.params.num_trees)
            variance = math_ops.maximum(0.0, squares - average * average)
            return average, tree_paths, variance

    def average_size(self):
        """The mean of the trees' numbers of nodes."""
        sizes = []
        for i in range(self.params.num_trees):
            with ops.device(self.variables.device_dummies[i].device):
                sizes.append(self.trees[i].size())
        return math_ops.reduce_mean(math_ops.cast(array_ops.stack(sizes), dtypes.float32))

    def training_loss(self, features, labels, name="training_loss"):
        """The negative average size: a forest that grows learns."""
        return math_ops.negative(self.average_size(), name=name)

    def validation_loss(self, features, labels):
        return math_ops.negative(self.average_size())

    def average_impurity(self):
        """The mean of the trees' impurities, for classes of trees that have some."""
        impurities = []
        for i in range(self.params.num_trees):
            with ops.device(self.variables.device_dummies[i].device):
                impurities.append(self.trees[i].average_impurity())
        return math_ops.reduce_mean(array_ops.stack(impurities))

    def feature_importances(self):
        """The part that each feature has in the tests of all trees."""
        counts = [self.trees[i].feature_usage_counts() for i in range(self.params.num_trees)]
        total = math_ops.reduce_sum(array_ops.stack(counts, 0), 0)
        return total / math_ops.reduce_sum(total)


def _sparse_parts(sparse_features):
    if sparse_features is None:
        return [], [], []
    return sparse_features.indices, sparse_features.values, sparse_features.dense_shape


class RandomTreeGraphs:
    """Graphs of a tree.

    Args:
      variables: a TreeVariables.
      params: a ForestHParams.
      tree_num: the number of the tree.
    """

    def __init__(self, variables, params, tree_num):
        self.variables = variables
        self.params = params
        self.tree_num = tree_num

    def training_graph(
        self,
        input_data,
        input_labels,
        random_seed,
        data_spec,
        sparse_features=None,
        input_weights=None,
    ):
        """The operation that trains by a batch.

        Args:
          input_data, sparse_features, data_spec: of ParseDataTensorOrDict.
          input_labels: float.
          random_seed: of the features that splits are made of; 0: a random one.
          input_weights: a vector; None: all weigh 1.
        """
        input_weights = [] if input_weights is None else input_weights
        input_data = [] if input_data is None else input_data
        features = (input_data, *_sparse_parts(sparse_features))
        attrs = {
            "input_spec": data_spec.SerializeToString(),
            "params": self.params.serialized_params_proto,
        }
        params = self.params.serialized_params_proto
        leaf_ids = model_ops.traverse_tree_v4(self.variables.tree, *features, **attrs)
        update_model = model_ops.update_model_v4(
            self.variables.tree, leaf_ids, input_labels, input_weights, params=params
        )
        finished_nodes = stats_ops.process_input_v4(
            self.variables.tree,
            self.variables.stats,
            *features,
            input_labels,
            input_weights,
            leaf_ids,
            random_seed=random_seed,
            **attrs,
        )
        with ops.control_dependencies([update_model]):
            return stats_ops.grow_tree_v4(
                self.variables.tree, self.variables.stats, finished_nodes, params=params
            )

    def inference_graph(self, input_data, data_spec, sparse_features=None):
        """Probabilities (of a regression: outputs) [examples, num_classes], and ways through the tree."""
        return model_ops.tree_predictions_v4(
            self.variables.tree,
            [] if input_data is None else input_data,
            *_sparse_parts(sparse_features),
            input_spec=data_spec.SerializeToString(),
            params=self.params.serialized_params_proto,
        )

    def size(self):
        """The number of nodes."""
        return model_ops.tree_size(self.variables.tree)

    def feature_usage_counts(self):
        return model_ops.feature_usage_counts(self.variables.tree, params=self.params.serialized_params_proto)
