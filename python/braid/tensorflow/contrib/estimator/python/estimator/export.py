"""The older names of Estimator's methods that export graphs of several modes."""

from braid.tensorflow.python.estimator.mode_keys import ModeKeys


def export_saved_model_for_mode(
    estimator,
    export_dir_base,
    input_receiver_fn,
    assets_extra=None,
    as_text=False,
    checkpoint_path=None,
    mode=ModeKeys.PREDICT,
):
    """Estimator.export_saved_model with experimental_mode."""
    return estimator.export_saved_model(
        export_dir_base,
        input_receiver_fn,
        assets_extra=assets_extra,
        as_text=as_text,
        checkpoint_path=checkpoint_path,
        experimental_mode=mode,
    )


def export_all_saved_models(
    estimator,
    export_dir_base,
    input_receiver_fn_map,
    assets_extra=None,
    as_text=False,
    checkpoint_path=None,
):
    """Estimator.experimental_export_all_saved_models."""
    return estimator.experimental_export_all_saved_models(
        export_dir_base,
        input_receiver_fn_map,
        assets_extra=assets_extra,
        as_text=as_text,
        checkpoint_path=checkpoint_path,
    )
