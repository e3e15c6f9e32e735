"""tf.contrib.training."""

from braid.tensorflow.contrib.training.python.training.bucket_ops import bucket  # noqa: F401
from braid.tensorflow.contrib.training.python.training.bucket_ops import (
    bucket_by_sequence_length,
)  # noqa: F401
from braid.tensorflow.contrib.training.python.training.device_setter import (  # noqa: F401
    GreedyLoadBalancingStrategy,
    RandomStrategy,
    byte_size_load_fn,
)
from braid.tensorflow.contrib.training.python.training.evaluation import (  # noqa: F401
    StopAfterNEvalsHook,
    SummaryAtEndHook,
    evaluate_once,
    evaluate_repeatedly,
    get_or_create_eval_step,
)
from braid.tensorflow.contrib.training.python.training.feeding_queue_runner import (  # noqa: F401
    FeedingQueueRunner,
)
from braid.tensorflow.contrib.training.python.training.hparam import HParams, parse_values  # noqa: F401
from braid.tensorflow.contrib.training.python.training.resample import (  # noqa: F401
    resample_at_rate,
    weighted_resample,
)
from braid.tensorflow.contrib.training.python.training.sampling_ops import (  # noqa: F401
    rejection_sample,
    stratified_sample,
)
from braid.tensorflow.contrib.training.python.training.sequence_queueing_state_saver import (  # noqa: F401
    NextQueuedSequenceBatch,
    SequenceQueueingStateSaver,
    batch_sequences_with_states,
)
from braid.tensorflow.contrib.training.python.training.training import (  # noqa: F401
    add_gradients_summaries,
    clip_gradient_norms,
    clip_gradient_norms_fn,
    create_train_op,
    multiply_gradients,
    train,
)
from braid.tensorflow.contrib.training.python.training.tuner import Tuner  # noqa: F401
from braid.tensorflow.python.training.checkpoint_utils import (  # noqa: F401
    checkpoints_iterator,
    wait_for_new_checkpoint,
)


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.training.{name}"))
