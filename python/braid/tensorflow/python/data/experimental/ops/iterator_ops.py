"""How far an iterator is, in checkpoints."""

from braid.tensorflow.python.data.ops import iterator_ops
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("data.experimental.make_saveable_from_iterator")
def make_saveable_from_iterator(iterator):
    """What a tf.train.Saver saves of an iterator; add it to the collection SAVEABLE_OBJECTS."""
    return iterator_ops._IteratorSaveable(iterator._iterator_resource, iterator._iterator_resource.name)


def __getattr__(name):
    """CheckpointInputPipelineHook, which needs the modules of hooks, when it is asked for."""
    if name != "CheckpointInputPipelineHook":
        raise AttributeError(name)
    from braid.tensorflow.python.training import saver as saver_lib
    from braid.tensorflow.python.training import session_run_hook

    class CheckpointInputPipelineHook(session_run_hook.SessionRunHook):
        """Saves how far the iterators of an Estimator's input are, beside the model, and restores it.

        estimator: whose directory and configuration say where and how often.
        """

        def __init__(self, estimator):
            from braid.tensorflow.python.training import basic_session_run_hooks

            config = estimator.config
            name = "input"
            if config.task_type != "chief" or config.task_id:
                name = f"input_{config.task_type}_{config.task_id}"
            self._saver_hook = basic_session_run_hooks.CheckpointSaverHook(
                estimator.model_dir,
                save_secs=config.save_checkpoints_secs,
                save_steps=config.save_checkpoints_steps,
                checkpoint_basename=name + ".ckpt",
            )
            self._name, self._directory = name, estimator.model_dir

        def begin(self):
            iterators = ops.get_collection(iterator_ops.GLOBAL_ITERATORS)
            saveables = [iterator_ops._IteratorSaveable(i, i.name) for i in iterators]
            self._saver = saver_lib.Saver(saveables, sharded=True) if saveables else None
            self._saver_hook._saver = self._saver
            if self._saver is not None:
                self._saver_hook.begin()

        def after_create_session(self, session, coord):
            if self._saver is None:
                return
            latest = saver_lib.checkpoint_management.latest_checkpoint(
                self._directory, latest_filename="checkpoint_" + self._name
            )
            if latest:
                self._saver.restore(session, latest)

        def before_run(self, run_context):
            return self._saver_hook.before_run(run_context) if self._saver is not None else None

        def after_run(self, run_context, run_values):
            if self._saver is not None:
                self._saver_hook.after_run(run_context, run_values)

        def end(self, session):
            if self._saver is not None:
                self._saver_hook.end(session)

    globals()[name] = CheckpointInputPipelineHook
    return CheckpointInputPipelineHook


tf_export("data.experimental.CheckpointInputPipelineHook").export_constant(
    __name__, "CheckpointInputPipelineHook"
)
