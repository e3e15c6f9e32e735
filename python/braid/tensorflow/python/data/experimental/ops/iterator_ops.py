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

    class _InputSaver(saver_lib.Saver):
        """A Saver whose newest checkpoint stands in a file of its own, beside that of the model's."""

        def __init__(self, saveables, state):
            super().__init__(saveables)
            self._state = state

        def save(self, sess, save_path, global_step=None, latest_filename=None, *args, **kwargs):
            return super().save(sess, save_path, global_step, latest_filename or self._state, *args, **kwargs)

    class CheckpointInputPipelineHook(session_run_hook.SessionRunHook):
        """Saves how far the iterators of an Estimator's input are, beside the model, and restores it.

        estimator: whose directory and configuration say where and how often.
        """

        def __init__(self, estimator):
            from braid.tensorflow.python.training import basic_session_run_hooks

            config = estimator.config
            name = "input"
            if config.num_worker_replicas > 1:
                name = f"input_{config.task_type}_{config.task_id}"
            self._saver_hook = basic_session_run_hooks.CheckpointSaverHook(
                estimator.model_dir,
                save_secs=config.save_checkpoints_secs,
                save_steps=config.save_checkpoints_steps,
                checkpoint_basename=name + ".ckpt",
            )
            self._state, self._directory = "checkpoint_" + name, estimator.model_dir
            self._is_first = True

        def begin(self):
            iterators = ops.get_collection(iterator_ops.GLOBAL_ITERATORS)
            saveables = [iterator_ops._IteratorSaveable(i, i.name) for i in iterators]
            self._saver_hook._saver = self._saver = _InputSaver(saveables, self._state)
            self._saver_hook.begin()

        def before_run(self, run_context):
            if self._is_first:
                self._is_first = False
                self._restore_or_save(run_context.session)
            return self._saver_hook.before_run(run_context)

        def _restore_or_save(self, session):
            latest = saver_lib.checkpoint_management.latest_checkpoint(
                self._directory, latest_filename=self._state
            )
            if latest:
                self._saver.restore(session, latest)
                return
            step = session.run(self._saver_hook._global_step_tensor)
            self._saver_hook._save(session, step)
            self._saver_hook._timer.update_last_triggered_step(step)

        def after_run(self, run_context, run_values):
            self._saver_hook.after_run(run_context, run_values)

        def end(self, session):
            self._saver_hook.end(session)

    globals()[name] = CheckpointInputPipelineHook
    return CheckpointInputPipelineHook


tf_export("data.experimental.CheckpointInputPipelineHook").export_constant(
    __name__, "CheckpointInputPipelineHook"
)
