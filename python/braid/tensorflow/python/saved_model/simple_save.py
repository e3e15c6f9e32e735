"""Saving a model for serving in one call."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.saved_model import (
    builder_impl,
    signature_constants,
    signature_def_utils_impl,
    tag_constants,
)
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["saved_model.simple_save"])
def simple_save(session, export_dir, inputs, outputs, legacy_init_op=None):
    """Writes the default graph and the session's variables as a saved model with one signature.

    inputs, outputs: dicts of tensors.
    """
    signatures = {
        signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signature_def_utils_impl.predict_signature_def(
            inputs, outputs
        )
    }
    builder = builder_impl.SavedModelBuilder(export_dir)
    builder.add_meta_graph_and_variables(
        session,
        tags=[tag_constants.SERVING],
        signature_def_map=signatures,
        assets_collection=ops.get_collection(ops.GraphKeys.ASSET_FILEPATHS),
        main_op=legacy_init_op,
        clear_devices=True,
    )
    builder.save()
