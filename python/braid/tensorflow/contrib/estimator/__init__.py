"""tf.contrib.estimator: heads, hooks and extenders, most of which are tf.estimator's."""

from braid.tensorflow.contrib.estimator.python.estimator.boosted_trees import (  # noqa: F401
    boosted_trees_classifier_train_in_memory,
    boosted_trees_regressor_train_in_memory,
)
from braid.tensorflow.contrib.estimator.python.estimator.extenders import (  # noqa: F401
    add_metrics,
    clip_gradients_by_norm,
    forward_features,
)
from braid.tensorflow.contrib.estimator.python.estimator.head import (  # noqa: F401
    binary_classification_head,
    logistic_regression_head,
    multi_class_head,
    multi_label_head,
    poisson_regression_head,
    regression_head,
)
from braid.tensorflow.contrib.estimator.python.estimator.export import (  # noqa: F401
    export_all_saved_models,
    export_saved_model_for_mode,
)
from braid.tensorflow.contrib.estimator.python.estimator.multi_head import multi_head  # noqa: F401
from braid.tensorflow.contrib.estimator.python.estimator.rnn import (  # noqa: F401
    RNNClassifier,
    RNNEstimator,
)
from braid.tensorflow.python.estimator.canned.dnn import (  # noqa: F401
    DNNEstimator,
    dnn_logit_fn_builder,
)
from braid.tensorflow.python.estimator.canned.baseline import BaselineEstimator  # noqa: F401
from braid.tensorflow.python.estimator.canned.dnn_linear_combined import (  # noqa: F401
    DNNLinearCombinedEstimator,
)
from braid.tensorflow.python.estimator.canned.saved_model_estimator import (  # noqa: F401
    SavedModelEstimator,
)
from braid.tensorflow.python.estimator.canned.linear import (  # noqa: F401
    LinearEstimator,
    linear_logit_fn_builder,
)
from braid.tensorflow.python.estimator.early_stopping import (  # noqa: F401
    make_early_stopping_hook,
    read_eval_metrics,
    stop_if_higher_hook,
    stop_if_lower_hook,
    stop_if_no_decrease_hook,
    stop_if_no_increase_hook,
)
from braid.tensorflow.python.estimator.export.export import (  # noqa: F401
    build_raw_supervised_input_receiver_fn,
    build_supervised_input_receiver_fn_from_input_fn,
)
from braid.tensorflow.python.estimator.hooks.hooks import (  # noqa: F401
    InMemoryEvaluatorHook,
    make_stop_at_checkpoint_step_hook,
)
from braid.tensorflow.python.estimator.model_fn import call_logit_fn  # noqa: F401


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.estimator.{name}"))
