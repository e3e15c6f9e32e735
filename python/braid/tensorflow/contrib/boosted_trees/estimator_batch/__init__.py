"""Estimators of gradient boosted trees."""


def __getattr__(name):
    from braid.tensorflow import missing

    full = f"contrib.boosted_trees.estimator_batch.{name}"
    if missing.refusal(full) is None:
        raise AttributeError(missing.message(full))
    return missing.RefusingModule(f"tensorflow.{full}")  # which programs import at their head
