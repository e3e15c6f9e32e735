"""Loads an exported model or a SavedModel; the signatures of the first become those of the second."""

import os

from braid.tensorflow.contrib.session_bundle import constants as legacy_constants
from braid.tensorflow.contrib.session_bundle import manifest_pb2, session_bundle
from braid.tensorflow.core.protobuf import meta_graph_pb2
from braid.tensorflow.python.client import session
from braid.tensorflow.python.framework import meta_graph
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.saved_model import loader, signature_constants


def load_session_bundle_or_saved_model_bundle_from_path(export_dir, tags=None, target="", config=None):
    """Returns a session with a model's graph and variables, and its MetaGraphDef with SignatureDefs.

    tags: of the MetaGraphDef of a SavedModel. target, config: of the session.

    Raises:
      RuntimeError: the directory has neither, or an exported model is malformed.
    """
    if loader.maybe_saved_model_directory(export_dir):
        sess = session.Session(target, graph=None, config=config)
        return sess, loader.load(sess, tags, export_dir)
    if session_bundle.maybe_session_bundle_dir(export_dir):
        return _load_saved_model_from_session_bundle_path(export_dir, target, config)
    raise RuntimeError(
        "SessionBundle or SavedModelBundle not found at specified export location: %s" % export_dir
    )


def _load_saved_model_from_session_bundle_path(export_dir, target, config):
    metagraph_def = meta_graph.read_meta_graph_file(
        os.path.join(export_dir, legacy_constants.META_GRAPH_DEF_FILENAME)
    )
    if metagraph_def.signature_def:
        raise RuntimeError("Legacy graph contains signature def, unable to up-convert.")
    default, named = _convert_signatures_to_signature_defs(metagraph_def)
    key = signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
    if default:
        metagraph_def.signature_def[key].CopyFrom(default)
    if named:
        metagraph_def.signature_def[key + "_from_named" if default else key].CopyFrom(named)
    return session_bundle.load_session_bundle_from_path(export_dir, target, config, metagraph_def)


def _add_input_to_signature_def(tensor_name, map_key, signature_def):
    signature_def.inputs[map_key].CopyFrom(meta_graph_pb2.TensorInfo(name=tensor_name))


def _add_output_to_signature_def(tensor_name, map_key, signature_def):
    signature_def.outputs[map_key].CopyFrom(meta_graph_pb2.TensorInfo(name=tensor_name))


def _convert_signatures_to_signature_defs(metagraph_def):
    """The SignatureDefs of the default signature and of the named ones; None: there is none."""
    packed = metagraph_def.collection_def[legacy_constants.SIGNATURES_KEY].any_list.value[0]
    signatures = manifest_pb2.Signatures()
    packed.Unpack(signatures)
    default = named = None
    if signatures.HasField("default_signature"):
        default = _convert_default_signature_to_signature_def(signatures)
    if len(signatures.named_signatures) > 1:
        named = _convert_named_signatures_to_signature_def(signatures)
    return default, named


def _convert_default_signature_to_signature_def(signatures):
    """None: it is a generic one, which has no counterpart."""
    default = signatures.default_signature
    made = meta_graph_pb2.SignatureDef()
    kind = default.WhichOneof("type")
    if kind == legacy_constants.REGRESSION_SIGNATURE:
        given = default.regression_signature
        made.method_name = signature_constants.REGRESS_METHOD_NAME
        _add_input_to_signature_def(given.input.tensor_name, signature_constants.REGRESS_INPUTS, made)
        _add_output_to_signature_def(given.output.tensor_name, signature_constants.REGRESS_OUTPUTS, made)
    elif kind == legacy_constants.CLASSIFICATION_SIGNATURE:
        given = default.classification_signature
        made.method_name = signature_constants.CLASSIFY_METHOD_NAME
        _add_input_to_signature_def(given.input.tensor_name, signature_constants.CLASSIFY_INPUTS, made)
        _add_output_to_signature_def(
            given.classes.tensor_name, signature_constants.CLASSIFY_OUTPUT_CLASSES, made
        )
        _add_output_to_signature_def(
            given.scores.tensor_name, signature_constants.CLASSIFY_OUTPUT_SCORES, made
        )
    else:
        logging.error(
            "Only classification and regression default signatures are supported for up-conversion. %s is not "
            "supported",
            kind,
        )
        return None
    return made


def _convert_named_signatures_to_signature_def(signatures):
    """RuntimeError: those named "inputs" and "outputs" are not generic."""
    inputs = signatures.named_signatures[signature_constants.PREDICT_INPUTS]
    outputs = signatures.named_signatures[signature_constants.PREDICT_OUTPUTS]
    kinds = inputs.WhichOneof("type"), outputs.WhichOneof("type")
    if kinds != (legacy_constants.GENERIC_SIGNATURE,) * 2:
        raise RuntimeError(
            "Named input and output signatures can only be up-converted if they are generic signature. Input "
            "signature type is %s, output signature type is %s" % kinds
        )
    made = meta_graph_pb2.SignatureDef(method_name=signature_constants.PREDICT_METHOD_NAME)
    for key, binding in inputs.generic_signature.map.items():
        _add_input_to_signature_def(binding.tensor_name, key, made)
    for key, binding in outputs.generic_signature.map.items():
        _add_output_to_signature_def(binding.tensor_name, key, made)
    return made
