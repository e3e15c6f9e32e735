"""Functions that make predictors."""

from braid.tensorflow.contrib.predictor import core_estimator_predictor
from braid.tensorflow.contrib.predictor import saved_model_predictor
from braid.tensorflow.python.estimator import estimator as core_estimator


def from_estimator(estimator, serving_input_receiver_fn, output_key=None, graph=None, config=None):
    """A predictor of the newest checkpoint of an estimator.

    serving_input_receiver_fn: a function that makes a ServingInputReceiver. output_key: the name of the
    signature; the default one if None. graph: where it is built; a new one if None. config: a ConfigProto.
    """
    if not isinstance(estimator, core_estimator.EstimatorV2):
        raise TypeError(
            "Expected estimator to be of type tf.python.estimator.Estimator, but got type "
            f"{type(estimator)}. You likely want to call from_contrib_estimator."
        )
    return core_estimator_predictor.CoreEstimatorPredictor(
        estimator, serving_input_receiver_fn, output_key=output_key, graph=graph, config=config
    )


def from_saved_model(
    export_dir,
    signature_def_key=None,
    signature_def=None,
    input_names=None,
    output_names=None,
    tags=None,
    graph=None,
    config=None,
):
    """A predictor of a SavedModel.

    One of these says what is fed and fetched: the name of a signature (the default one if none is given), a
    SignatureDef, or input_names and output_names, dicts from names to names of tensors. tags: those of the
    graph, with commas between them; "serve" if None. graph: where it is loaded; a new one if None.
    """
    return saved_model_predictor.SavedModelPredictor(
        export_dir,
        signature_def_key=signature_def_key,
        signature_def=signature_def,
        input_names=input_names,
        output_names=output_names,
        tags=tags,
        graph=graph,
        config=config,
    )
