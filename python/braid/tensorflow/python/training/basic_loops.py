"""A loop that trains until the supervisor says stop."""

from braid.tensorflow.python.framework import errors
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["train.basic_train_loop"])
def basic_train_loop(supervisor, train_step_fn, args=None, kwargs=None, master=""):
    """Calls train_step_fn(session, *args, **kwargs) until supervisor.should_stop().

    When workers or parameter servers are restarted (AbortedError), a new session is made and the loop goes
    on.
    """
    should_retry = True
    while should_retry:
        try:
            should_retry = False
            with supervisor.managed_session(master) as sess:
                while not supervisor.should_stop():
                    train_step_fn(sess, *(args or ()), **(kwargs or {}))
        except errors.AbortedError:
            should_retry = True
