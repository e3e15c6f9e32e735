"""TensorInfos, which describe tensors in signatures, and the paths of a saved model's files."""

import os

from braid import protos
from braid.tensorflow.core.protobuf import struct_pb2
from braid.tensorflow.python.framework import composite_tensor, ops, sparse_tensor
from braid.tensorflow.python.lib.io import file_io
from braid.tensorflow.python.saved_model import constants, nested_structure_coder
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["saved_model.build_tensor_info", "saved_model.utils.build_tensor_info"])
def build_tensor_info(tensor):
    """The TensorInfo of a tensor: its name, dtype and shape; those of the tensors that a ragged tensor has."""
    is_sparse = isinstance(tensor, sparse_tensor.SparseTensor)
    if isinstance(tensor, composite_tensor.CompositeTensor) and not is_sparse:
        info = protos.TensorInfo()
        spec = nested_structure_coder.StructureCoder().encode_structure(tensor._type_spec)
        info.composite_tensor.type_spec = spec.type_spec_value.SerializeToString()  # a message as its bytes
        for component in nest.flatten(tensor, expand_composites=True):
            info.composite_tensor.components.add().CopyFrom(build_tensor_info(component))
        return info
    info = protos.TensorInfo(dtype=tensor.dtype.as_datatype_enum, tensor_shape=tensor.get_shape().as_proto())
    if is_sparse:
        info.coo_sparse.values_tensor_name = tensor.values.name
        info.coo_sparse.indices_tensor_name = tensor.indices.name
        info.coo_sparse.dense_shape_tensor_name = tensor.dense_shape.name
    else:
        info.name = tensor.name
    return info


def build_tensor_info_from_op(op):
    """The TensorInfo that names an operation."""
    return protos.TensorInfo(dtype=0, tensor_shape=protos.TensorShapeProto(unknown_rank=True), name=op.name)


def get_element_from_tensor_info(tensor_info, graph=None, import_scope=None):
    """The tensor or operation that a TensorInfo describes."""
    graph = graph or ops.get_default_graph()
    return graph.as_graph_element(ops.prepend_name_scope(tensor_info.name, import_scope))


@tf_export(v1=["saved_model.get_tensor_from_tensor_info", "saved_model.utils.get_tensor_from_tensor_info"])
def get_tensor_from_tensor_info(tensor_info, graph=None, import_scope=None):
    """The tensor, sparse or ragged tensor that a TensorInfo describes. KeyError: the graph does not have it."""
    graph = graph or ops.get_default_graph()

    def tensor(name):
        return graph.get_tensor_by_name(ops.prepend_name_scope(name, import_scope))

    encoding = tensor_info.WhichOneof("encoding")
    if encoding == "name":
        return tensor(tensor_info.name)
    if encoding == "coo_sparse":
        sparse = tensor_info.coo_sparse
        return sparse_tensor.SparseTensor(
            tensor(sparse.indices_tensor_name),
            tensor(sparse.values_tensor_name),
            tensor(sparse.dense_shape_tensor_name),
        )
    if encoding == "composite_tensor":
        composite = tensor_info.composite_tensor
        spec = struct_pb2.StructuredValue()
        spec.type_spec_value.ParseFromString(composite.type_spec)
        components = [tensor(component.name) for component in composite.components]
        return nest.pack_sequence_as(
            nested_structure_coder.StructureCoder().decode_proto(spec), components, expand_composites=True
        )
    raise ValueError(f"Invalid TensorInfo.encoding: {encoding}")


def get_variables_dir(export_dir):
    return os.path.join(os.fsdecode(export_dir), constants.VARIABLES_DIRECTORY)


def get_variables_path(export_dir):
    """The prefix of the checkpoint of a saved model."""
    return os.path.join(get_variables_dir(export_dir), constants.VARIABLES_FILENAME)


def get_assets_dir(export_dir):
    return os.path.join(os.fsdecode(export_dir), constants.ASSETS_DIRECTORY)


def get_or_create_variables_dir(export_dir):
    path = get_variables_dir(export_dir)
    file_io.recursive_create_dir(path)
    return path


def get_or_create_assets_dir(export_dir):
    path = get_assets_dir(export_dir)
    file_io.recursive_create_dir(path)
    return path
