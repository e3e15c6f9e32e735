"""A predictor of an estimator's newest checkpoint."""

from braid.tensorflow.contrib.predictor import predictor
from braid.tensorflow.python.estimator.mode_keys import ModeKeys
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.saved_model import signature_constants
from braid.tensorflow.python.training import monitored_session


class CoreEstimatorPredictor(predictor.Predictor):
    """See from_estimator."""

    def __init__(self, estimator, serving_input_receiver_fn, output_key=None, graph=None, config=None):
        output_key = output_key or signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
        self._graph = graph or ops.Graph()
        with self._graph.as_default():
            receiver = serving_input_receiver_fn()
            spec = estimator.model_fn(receiver.features, None, ModeKeys.PREDICT, estimator.config)
            output = spec.export_outputs.get(output_key)
            if output is None:
                raise KeyError(f"output_key must be one of {list(spec.export_outputs)}; got {output_key}")
            signature = output.as_signature_def(receiver.receiver_tensors)
            self._session = monitored_session.MonitoredSession(
                session_creator=monitored_session.ChiefSessionCreator(
                    config=config, checkpoint_dir=estimator.model_dir
                )
            )
        self._take_signature(
            {key: info.name for key, info in signature.inputs.items()},
            {key: info.name for key, info in signature.outputs.items()},
        )
