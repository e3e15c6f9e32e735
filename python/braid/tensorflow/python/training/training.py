"""What programs find as tensorflow.python.training.training: the names of tf.train."""

from braid.tensorflow.python.training.adadelta import AdadeltaOptimizer  # noqa: F401
from braid.tensorflow.python.training.adagrad import AdagradOptimizer  # noqa: F401
from braid.tensorflow.python.training.adagrad_da import AdagradDAOptimizer  # noqa: F401
from braid.tensorflow.python.training.adam import AdamOptimizer  # noqa: F401
from braid.tensorflow.python.training.basic_loops import basic_train_loop  # noqa: F401
from braid.tensorflow.python.training.basic_session_run_hooks import (  # noqa: F401
    CheckpointSaverHook,
    CheckpointSaverListener,
    FeedFnHook,
    FinalOpsHook,
    GlobalStepWaiterHook,
    LoggingTensorHook,
    NanLossDuringTrainingError,
    NanTensorHook,
    ProfilerHook,
    SecondOrStepTimer,
    StepCounterHook,
    StopAtStepHook,
    SummarySaverHook,
    get_or_create_steps_per_run_variable,
)
from braid.tensorflow.python.training.checkpoint_management import (  # noqa: F401
    checkpoint_exists,
    generate_checkpoint_state_proto,
    get_checkpoint_mtimes,
    get_checkpoint_state,
    latest_checkpoint,
    remove_checkpoint,
    update_checkpoint_state,
)
from braid.tensorflow.python.training.checkpoint_utils import (  # noqa: F401
    checkpoints_iterator,
    init_from_checkpoint,
    list_variables,
    load_checkpoint,
    load_variable,
)
from braid.tensorflow.python.training.coordinator import Coordinator, LooperThread  # noqa: F401
from braid.tensorflow.python.training.device_setter import replica_device_setter  # noqa: F401
from braid.tensorflow.python.training.ftrl import FtrlOptimizer  # noqa: F401
from braid.tensorflow.python.training.gradient_descent import GradientDescentOptimizer  # noqa: F401
from braid.tensorflow.python.training.learning_rate_decay import (  # noqa: F401
    cosine_decay,
    cosine_decay_restarts,
    exponential_decay,
    inverse_time_decay,
    linear_cosine_decay,
    natural_exp_decay,
    noisy_linear_cosine_decay,
    piecewise_constant,
    polynomial_decay,
)
from braid.tensorflow.python.training.momentum import MomentumOptimizer  # noqa: F401
from braid.tensorflow.python.training.monitored_session import (  # noqa: F401
    ChiefSessionCreator,
    MonitoredSession,
    MonitoredTrainingSession,
    Scaffold,
    SessionCreator,
    SingularMonitoredSession,
    WorkerSessionCreator,
)
from braid.tensorflow.python.training.moving_averages import ExponentialMovingAverage  # noqa: F401
from braid.tensorflow.python.training.optimizer import Optimizer  # noqa: F401
from braid.tensorflow.python.training.proximal_adagrad import ProximalAdagradOptimizer  # noqa: F401
from braid.tensorflow.python.training.proximal_gradient_descent import (  # noqa: F401
    ProximalGradientDescentOptimizer,
)
from braid.tensorflow.python.training.py_checkpoint_reader import NewCheckpointReader  # noqa: F401
from braid.tensorflow.python.training.queue_runner import (  # noqa: F401
    QueueRunner,
    add_queue_runner,
    start_queue_runners,
)
from braid.tensorflow.python.training.rmsprop import RMSPropOptimizer  # noqa: F401
from braid.tensorflow.python.training.saver import Saver, export_meta_graph, import_meta_graph  # noqa: F401
from braid.tensorflow.python.training.server_lib import ClusterSpec, Server  # noqa: F401
from braid.tensorflow.python.training.session_manager import SessionManager  # noqa: F401
from braid.tensorflow.python.training.session_run_hook import (  # noqa: F401
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from braid.tensorflow.python.training.input import (  # noqa: F401
    batch,
    batch_join,
    input_producer,
    limit_epochs,
    match_filenames_once,
    maybe_batch,
    maybe_batch_join,
    maybe_shuffle_batch,
    maybe_shuffle_batch_join,
    range_input_producer,
    shuffle_batch,
    shuffle_batch_join,
    slice_input_producer,
    string_input_producer,
)
from braid.tensorflow.python.training.supervisor import Supervisor  # noqa: F401
from braid.tensorflow.python.training.sync_replicas_optimizer import SyncReplicasOptimizer  # noqa: F401
from braid.tensorflow.python.training.training_util import (  # noqa: F401
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
    write_graph,
)
from braid.tensorflow.python.training.warm_starting_util import VocabInfo, warm_start  # noqa: F401
