"""k-means: groups of points around centers (Lloyd 1982; mini-batches: Sculley 2010)."""

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import random_seed as random_seed_ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import embedding_ops
from braid.tensorflow.python.ops import gen_clustering_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_impl
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.ops import variable_scope

SQUARED_EUCLIDEAN_DISTANCE = "squared_euclidean"
COSINE_DISTANCE = "cosine"

RANDOM_INIT = "random"
KMEANS_PLUS_PLUS_INIT = "kmeans_plus_plus"
KMC2_INIT = "kmc2"

CLUSTERS_VAR_NAME = "clusters"  # the variable of the centers


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(gen_clustering_ops, name)


class KMeans:
    """Builds the graph of k-means.

    Each step of the full algorithm goes over all points and moves each center to the mean of its points. With
    `use_mini_batch` a step moves the centers towards the points of a batch, the less the more points they
    had.

    Args:
      inputs: the points [n, dimensions], or a list of parts of them. They are in no particular order.
      num_clusters: how many centers; unused where `initial_clusters` gives them.
      initial_clusters: the first centers: an array; a function of (list of inputs, k) that returns up to k;
        or how they are chosen of the points: "random", "kmeans_plus_plus" (Arthur & Vassilvitskii 2007) or
        "kmc2" (Bachem et al. 2016).
      distance_metric: "squared_euclidean" or "cosine".
      use_mini_batch: whether a step has a part of the points only.
      mini_batch_steps_per_iteration: after so many steps the centers that distances are measured to follow
        those that are moved.
      random_seed: of the choice of first centers.
      kmeans_plus_plus_num_retries: how many more points each choice of kmeans_plus_plus compares; negative:
        the engine chooses.
      kmc2_chain_length: how many points each choice of kmc2 looks at.
    """

    def __init__(
        self,
        inputs,
        num_clusters,
        initial_clusters=RANDOM_INIT,
        distance_metric=SQUARED_EUCLIDEAN_DISTANCE,
        use_mini_batch=False,
        mini_batch_steps_per_iteration=1,
        random_seed=0,
        kmeans_plus_plus_num_retries=2,
        kmc2_chain_length=200,
    ):
        names = (RANDOM_INIT, KMEANS_PLUS_PLUS_INIT, KMC2_INIT)
        if isinstance(initial_clusters, str) and initial_clusters not in names:
            raise ValueError(f"Unsupported initialization algorithm '{initial_clusters}'")
        if distance_metric not in (SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE):
            raise ValueError(f"Unsupported distance metric '{distance_metric}'")
        self._inputs = inputs if isinstance(inputs, list) else [inputs]
        self._num_clusters = num_clusters
        self._initial_clusters = initial_clusters
        self._distance_metric = distance_metric
        self._use_mini_batch = use_mini_batch
        self._mini_batch_steps_per_iteration = int(mini_batch_steps_per_iteration)
        self._seed = random_seed_ops.get_seed(random_seed)[0]
        self._kmeans_plus_plus_num_retries = kmeans_plus_plus_num_retries
        self._kmc2_chain_length = kmc2_chain_length

    # -- Distances --

    @classmethod
    def _distance_graph(cls, inputs, clusters, distance_metric):
        """The distances of the points to all centers, [n, k], for each part of the inputs."""
        if distance_metric == SQUARED_EUCLIDEAN_DISTANCE:
            return cls._compute_euclidean_distance(inputs, clusters)
        return cls._compute_cosine_distance(inputs, clusters, inputs_normalized=True)

    @classmethod
    def _compute_euclidean_distance(cls, inputs, clusters):
        """|x - c|^2 = x^2 - 2xc + c^2."""
        found = []
        for part in inputs:
            with ops.colocate_with(part, ignore_existing=True):
                of_points = math_ops.reduce_sum(math_ops.square(part), 1, keepdims=True)
                of_centers = math_ops.reduce_sum(math_ops.square(clusters), 1, keepdims=True)
                products = math_ops.matmul(part, clusters, transpose_b=True)
                found.append(of_points - 2 * products + array_ops.transpose(of_centers))
        return found

    @classmethod
    def _compute_cosine_distance(cls, inputs, clusters, inputs_normalized=True):
        """1 - xc of vectors of length 1."""
        if not inputs_normalized:
            inputs = cls._l2_normalize_data(inputs)
            clusters = nn_impl.l2_normalize(clusters, axis=1)
        found = []
        for part in inputs:
            with ops.colocate_with(part, ignore_existing=True):
                found.append(1 - math_ops.matmul(part, clusters, transpose_b=True))
        return found

    @classmethod
    def _l2_normalize_data(cls, inputs):
        found = []
        for part in inputs:
            with ops.colocate_with(part, ignore_existing=True):
                found.append(nn_impl.l2_normalize(part, axis=1))
        return found

    def _infer_graph(self, inputs, clusters):
        """The distances to all centers, the least one, and whose that is, each for all parts of the inputs."""
        scores = self._distance_graph(inputs, clusters, self._distance_metric)
        if self._distance_metric == COSINE_DISTANCE and not self._clusters_l2_normalized():
            with ops.colocate_with(clusters, ignore_existing=True):
                clusters = nn_impl.l2_normalize(clusters, axis=1)
        found = []
        for part, score in zip(inputs, scores):
            with ops.colocate_with(part, ignore_existing=True):
                indices, distances = gen_clustering_ops.nearest_neighbors(part, clusters, 1)
                if self._distance_metric == COSINE_DISTANCE:
                    distances *= 0.5  # of vectors of length 1 that is 1 - xc
                found.append((score, array_ops.squeeze(distances, [-1]), array_ops.squeeze(indices, [-1])))
        return zip(*found)

    def _clusters_l2_normalized(self):
        """Whether the variable's centers have length 1."""
        return self._distance_metric == COSINE_DISTANCE and not self._moves_measured_centers()

    def _moves_measured_centers(self):
        """Whether each step of a mini-batch changes the centers that distances are measured to."""
        return self._use_mini_batch and self._mini_batch_steps_per_iteration <= 1

    # -- Training --

    def _create_variables(self, num_clusters):
        """(centers, whether they are all there, points that each had, centers that steps move, steps left)."""
        nothing = array_ops.placeholder_with_default([], shape=None)
        centers = variable_scope.variable(nothing, name=CLUSTERS_VAR_NAME, validate_shape=False)
        initialized = variable_scope.variable(False, dtype=dtypes.bool, name="initialized")
        if not self._use_mini_batch:
            return centers, initialized, None, centers, None
        if self._moves_measured_centers():
            counts = variable_scope.variable(array_ops.ones([num_clusters], dtype=dtypes.int64))
            return centers, initialized, counts, centers, None
        moved = variable_scope.variable(nothing, name="clusters_updated", validate_shape=False)
        left = variable_scope.variable(
            self._mini_batch_steps_per_iteration, dtype=dtypes.int64, name="update_in_steps"
        )
        counts = variable_scope.variable(array_ops.zeros([num_clusters], dtype=dtypes.int64))
        return centers, initialized, counts, moved, left

    def training_graph(self):
        """(all_scores, cluster_idx, scores, cluster_centers_initialized, init_op, training_op).

        all_scores, scores and cluster_idx are tuples of a tensor for each part of the inputs: the distances
        to all centers, the least, and whose that is. One worker runs `init_op` until the variable
        `cluster_centers_initialized` is true; then any run `training_op`.
        """
        initial = self._initial_clusters
        if isinstance(initial, str) or callable(initial):
            num_clusters = ops.convert_to_tensor(self._num_clusters)
        else:
            initial = ops.convert_to_tensor(initial)
            num_clusters = array_ops.shape(initial)[0]
        centers_var, initialized, counts, moved, left = self._create_variables(num_clusters)
        init_op = _InitializeClustersOpFactory(
            self._inputs,
            num_clusters,
            initial,
            self._distance_metric,
            self._seed,
            self._kmeans_plus_plus_num_retries,
            self._kmc2_chain_length,
            centers_var,
            moved,
            initialized,
        ).op()
        inputs, centers = self._inputs, centers_var
        if self._distance_metric == COSINE_DISTANCE:
            inputs = self._l2_normalize_data(inputs)
            if not self._clusters_l2_normalized():
                centers = nn_impl.l2_normalize(centers, axis=1)
        all_scores, scores, cluster_idx = self._infer_graph(inputs, centers)
        if self._use_mini_batch:
            with ops.control_dependencies([self._sync(left, centers_var, moved, counts)]):
                training_op = self._mini_batch_training_op(inputs, cluster_idx, moved, counts)
        else:
            training_op = self._full_batch_training_op(inputs, num_clusters, cluster_idx, centers_var)
        return all_scores, cluster_idx, scores, initialized, init_op, training_op

    def _sync(self, left, centers_var, moved, counts):
        """Has the centers that distances are measured to follow the moved ones when no steps are left.

        Other workers run it too, without a lock: `left` changes first, so that few do it, and counts last, so
        that no center moves far by a count that is too small.
        """
        if left is None:
            return control_flow_ops.no_op()

        def follow():
            with ops.control_dependencies([state_ops.assign(left, self._mini_batch_steps_per_iteration - 1)]):
                with ops.colocate_with(moved, ignore_existing=True):
                    is_cosine = self._distance_metric == COSINE_DISTANCE
                    centers = nn_impl.l2_normalize(moved, axis=1) if is_cosine else array_ops.identity(moved)
            with ops.control_dependencies([state_ops.assign(centers_var, centers)]):
                reset = state_ops.assign(counts, array_ops.zeros_like(counts))
            with ops.control_dependencies([reset]):
                return array_ops.identity(left)

        with ops.colocate_with(left, ignore_existing=True):
            return control_flow_ops.cond(left <= 0, follow, lambda: state_ops.assign_sub(left, 1))

    def _mini_batch_training_op(self, inputs, cluster_idx_list, cluster_centers, total_counts):
        """Moves the centers of the batch's points.

        A center x that had n points and gets d_1 ... d_k becomes x + (sum(d_i) - k x) / (n + k).
        """
        updates = []
        for part, places in zip(inputs, cluster_idx_list):
            with ops.colocate_with(part, ignore_existing=True):
                centers, of_points = array_ops.unique(array_ops.reshape(places, [-1]))
                count = array_ops.size(centers)
                with ops.colocate_with(total_counts, ignore_existing=True):
                    old_counts = array_ops.gather(total_counts, centers)
                with ops.colocate_with(cluster_centers, ignore_existing=True):
                    old = array_ops.gather(cluster_centers, centers)
                more = math_ops.unsorted_segment_sum(
                    array_ops.ones_like(of_points, dtype=total_counts.dtype), of_points, count
                )
                as_columns = array_ops.concat(
                    [[count], array_ops.ones([array_ops.rank(part) - 1], dtype=dtypes.int32)], 0
                )
                change = math_ops.unsorted_segment_sum(part, of_points, count)
                change -= math_ops.cast(array_ops.reshape(more, as_columns), part.dtype) * old
                rate = math_ops.reciprocal(math_ops.cast(old_counts + more, part.dtype))
                change *= array_ops.reshape(rate, as_columns)
            with ops.control_dependencies([old_counts]):
                updates.append(state_ops.scatter_add(total_counts, centers, more))
            updates.append(state_ops.scatter_add(cluster_centers, centers, change))
        return control_flow_ops.group(*updates)

    def _full_batch_training_op(self, inputs, num_clusters, cluster_idx_list, cluster_centers):
        """Moves each center to the mean of its points."""
        sums, counts = [], []
        for part, places in zip(inputs, cluster_idx_list):
            with ops.colocate_with(part, ignore_existing=True):
                ones = array_ops.ones([array_ops.shape(part)[0], 1], part.dtype)
                sums.append(math_ops.unsorted_segment_sum(part, places, num_clusters))
                counts.append(math_ops.unsorted_segment_sum(ones, places, num_clusters))
        with ops.colocate_with(cluster_centers, ignore_existing=True):
            epsilon = constant_op.constant(1e-6, dtype=inputs[0].dtype)  # for a center without points
            made = math_ops.add_n(sums) / (math_ops.add_n(counts) + epsilon)
            if self._clusters_l2_normalized():
                made = nn_impl.l2_normalize(made, axis=1)
        return state_ops.assign(cluster_centers, made)


class _InitializeClustersOpFactory:
    """Builds the op that adds first centers from a batch, until there are as many as wanted."""

    def __init__(
        self,
        inputs,
        num_clusters,
        initial_clusters,
        distance_metric,
        random_seed,
        kmeans_plus_plus_num_retries,
        kmc2_chain_length,
        cluster_centers,
        cluster_centers_updated,
        cluster_centers_initialized,
    ):
        self._inputs = inputs
        self._num_clusters = num_clusters
        self._initial_clusters = initial_clusters
        self._distance_metric = distance_metric
        self._seed = random_seed
        self._kmeans_plus_plus_num_retries = kmeans_plus_plus_num_retries
        self._kmc2_chain_length = kmc2_chain_length
        self._cluster_centers = cluster_centers
        self._cluster_centers_updated = cluster_centers_updated
        self._cluster_centers_initialized = cluster_centers_initialized
        self._num_selected = array_ops.shape(cluster_centers)[0]
        self._num_remaining = num_clusters - self._num_selected
        self._num_data = math_ops.add_n([array_ops.shape(part)[0] for part in inputs])

    def op(self):
        return control_flow_ops.cond(
            math_ops.equal(self._num_remaining, 0),
            lambda: check_ops.assert_equal(self._cluster_centers_initialized, True),
            self._initialize,
        )

    def _initialize(self):
        with ops.control_dependencies([check_ops.assert_positive(self._num_remaining)]):
            if isinstance(self._initial_clusters, str) and self._initial_clusters == KMC2_INIT:
                remaining = self._kmc2_multiple_centers()
            else:
                remaining = self._add_new_centers()
            return control_flow_ops.cond(
                math_ops.equal(remaining, 0),
                lambda: state_ops.assign(self._cluster_centers_initialized, True),
                control_flow_ops.no_op,
            )

    def _assign(self, centers):
        """Gives the variables these centers, and returns how many are still wanted."""
        made = state_ops.assign(self._cluster_centers, centers, validate_shape=False)
        if self._cluster_centers_updated is not self._cluster_centers:
            made = state_ops.assign(self._cluster_centers_updated, made, validate_shape=False)
        return self._num_clusters - array_ops.shape(made)[0]

    def _add_new_centers(self):
        new = self._choose_initial_centers()
        if self._distance_metric == COSINE_DISTANCE:
            new = nn_impl.l2_normalize(new, axis=1)
        return self._assign(
            control_flow_ops.cond(
                math_ops.equal(self._num_selected, 0),
                lambda: new,
                lambda: array_ops.concat([self._cluster_centers, new], 0),
            )
        )

    def _choose_initial_centers(self):
        if isinstance(self._initial_clusters, str):
            if self._initial_clusters == RANDOM_INIT:
                return control_flow_ops.cond(
                    self._num_data <= self._num_remaining,
                    lambda: array_ops.concat(self._inputs, 0),
                    self._random,
                )
            check = check_ops.assert_greater_equal(self._num_data, self._num_remaining)
            with ops.control_dependencies([check]):
                return self._kmeans_plus_plus()
        if callable(self._initial_clusters):
            return self._initial_clusters(self._inputs, self._num_remaining)
        given = array_ops.shape(self._initial_clusters)[0]
        with ops.control_dependencies([check_ops.assert_equal(self._num_remaining, given)]):
            return array_ops.identity(self._initial_clusters)

    def _random(self):
        places = random_ops.random_uniform(
            array_ops.reshape(self._num_remaining, [-1]),
            minval=0,
            maxval=math_ops.cast(self._num_data, dtypes.int64),
            seed=self._seed,
            dtype=dtypes.int64,
        )
        return embedding_ops.embedding_lookup(self._inputs, places, partition_strategy="div")

    def _kmeans_plus_plus(self):
        points = self._inputs[0]
        if self._distance_metric == COSINE_DISTANCE:
            points = nn_impl.l2_normalize(points, axis=1)
        return gen_clustering_ops.kmeans_plus_plus_initialization(
            points,
            math_ops.cast(self._num_remaining, dtypes.int64),
            self._seed,
            self._kmeans_plus_plus_num_retries,
        )

    def _kmc2_multiple_centers(self):
        """Adds a center for each `kmc2_chain_length` points of the batch, but one at least."""
        points = self._inputs[0]
        length = self._kmc2_chain_length
        chains = math_ops.cast(array_ops.shape(points)[0] / length, dtypes.int32)
        count = math_ops.maximum(math_ops.minimum(self._num_remaining, chains), 1)

        def normalized(center):
            center = array_ops.reshape(center, [1, -1])
            is_cosine = self._distance_metric == COSINE_DISTANCE
            return nn_impl.l2_normalize(center, axis=1) if is_cosine else center

        def one_more(i):
            part = points[i * length : (i + 1) * length]
            _, distances = gen_clustering_ops.nearest_neighbors(part, self._cluster_centers, 1)
            chosen = gen_clustering_ops.kmc2_chain_initialization(array_ops.squeeze(distances), self._seed)
            return array_ops.concat([self._cluster_centers, normalized(part[chosen])], 0)

        def body(i, _):
            centers = control_flow_ops.cond(
                math_ops.equal(self._num_selected, 0), lambda: normalized(points[0]), lambda: one_more(i)
            )
            return i + 1, self._assign(centers)

        return control_flow_ops.while_loop(lambda i, _: i < count, body, [0, 0])[1]
