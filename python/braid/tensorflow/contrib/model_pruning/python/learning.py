"""slim's training with updates of the masks."""

from braid.tensorflow.contrib import slim


def train(
    train_op,
    logdir,
    mask_update_op,
    train_step_fn=slim.learning.train_step,
    **kwargs,
):
    """slim.learning.train, in which each step runs mask_update_op after train_step_fn; the last loss.

    kwargs: those of slim.learning.train.
    """

    def step(session, train_op, global_step, train_step_kwargs):
        loss, should_stop = train_step_fn(session, train_op, global_step, train_step_kwargs)
        session.run(mask_update_op)
        return loss, should_stop

    return slim.learning.train(train_op, logdir, train_step_fn=step, **kwargs)
