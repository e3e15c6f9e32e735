"""A predictor of a SavedModel."""

from braid.tensorflow.contrib.predictor import predictor
from braid.tensorflow.python.client import session
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.saved_model import loader
from braid.tensorflow.python.saved_model import signature_constants

DEFAULT_TAGS = "serve"
_DEFAULT_INPUT_ALTERNATIVE_FORMAT = "default_input_alternative:{}"


def _signature_of(meta_graph_def, signature_def_key):
    key = signature_def_key or signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
    for name in (key, _DEFAULT_INPUT_ALTERNATIVE_FORMAT.format(key)):
        if name in meta_graph_def.signature_def:
            return meta_graph_def.signature_def[name]
    raise ValueError(
        f'Got signature_def_key "{key}". Available signatures are {list(meta_graph_def.signature_def)}.'
    )


def _check_signature_arguments(signature_def_key, signature_def, input_names, output_names):
    if (input_names is None) != (output_names is None):
        raise ValueError("input_names and output_names must both be specified or both be unspecified.")
    if sum(given is not None for given in (signature_def_key, signature_def, input_names)) > 1:
        raise ValueError(
            "You must specify at most one of signature_def_key OR signature_def OR"
            "(input_names AND output_names)."
        )


class SavedModelPredictor(predictor.Predictor):
    """See from_saved_model."""

    def __init__(
        self,
        export_dir,
        signature_def_key=None,
        signature_def=None,
        input_names=None,
        output_names=None,
        tags=None,
        graph=None,
        config=None,
    ):
        _check_signature_arguments(signature_def_key, signature_def, input_names, output_names)
        tags = [tag.strip() for tag in (tags or DEFAULT_TAGS).split(",")]
        self._graph = graph or ops.Graph()
        with self._graph.as_default():
            self._session = session.Session(config=config)
            meta_graph_def = loader.load(self._session, tags, export_dir)
        if input_names is None:
            if signature_def is None:
                signature_def = _signature_of(meta_graph_def, signature_def_key)
            input_names = {key: info.name for key, info in signature_def.inputs.items()}
            output_names = {key: info.name for key, info in signature_def.outputs.items()}
        self._take_signature(input_names, output_names)
