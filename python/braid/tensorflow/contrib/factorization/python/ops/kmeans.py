"""tf.contrib.factorization.KMeansClustering: the Estimator, whose seed is called random_seed."""

from braid.tensorflow.python.estimator.canned import kmeans


class KMeansClustering(kmeans.KMeansClustering):
    """tf.estimator.experimental.KMeans, with `random_seed` in place of `seed`."""

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
