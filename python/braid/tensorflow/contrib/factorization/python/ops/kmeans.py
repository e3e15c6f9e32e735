"""tf.contrib.factorization.KMeansClustering: the Estimator, whose seed is called random_seed."""

from braid.tensorflow.python.estimator.canned import kmeans
from braid.tensorflow.python.estimator.canned.kmeans import _parse_features_if_necessary  # noqa: F401


class KMeansClustering(kmeans.KMeansClustering):
    """tf.estimator.experimental.KMeans, with `random_seed` in place of `seed` and squares from transform."""

    def __init__(
        self,
        num_clusters,
        model_dir=None,
        initial_clusters=kmeans.KMeansClustering.RANDOM_INIT,
        distance_metric=kmeans.KMeansClustering.SQUARED_EUCLIDEAN_DISTANCE,
        random_seed=0,
        use_mini_batch=True,
        mini_batch_steps_per_iteration=1,
        kmeans_plus_plus_num_retries=2,
        relative_tolerance=None,
        config=None,
        feature_columns=None,
    ):
        super().__init__(
            num_clusters,
            model_dir=model_dir,
            initial_clusters=initial_clusters,
            distance_metric=distance_metric,
            seed=random_seed,
            use_mini_batch=use_mini_batch,
            mini_batch_steps_per_iteration=mini_batch_steps_per_iteration,
            kmeans_plus_plus_num_retries=kmeans_plus_plus_num_retries,
            relative_tolerance=relative_tolerance,
            config=config,
            feature_columns=feature_columns,
        )

    def transform(self, input_fn):
        """Yields the distances of each point to all centers, of the squared metric the squares."""
        yield from self._predict_one_key(input_fn, self.ALL_DISTANCES)
