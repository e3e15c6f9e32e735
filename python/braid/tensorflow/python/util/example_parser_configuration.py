"""What a ParseExample node reads, as the message that tools outside of a graph parse examples by."""

from braid.tensorflow.core.example import example_parser_configuration_pb2
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util


def extract_example_parser_configuration(parse_example_op, sess):
    """The ExampleParserConfiguration of a ParseExample node; `sess` computes its keys and default values.

    ValueError: its attributes do not go together.
    """
    sparse = parse_example_op.get_attr("Nsparse")
    dense = parse_example_op.get_attr("Ndense")
    types = {name: parse_example_op.get_attr(name) for name in ("sparse_types", "Tdense", "dense_shapes")}
    for name, count in (("sparse_types", sparse), ("Tdense", dense), ("dense_shapes", dense)):
        if len(types[name]) != count:
            raise ValueError(f"attribute {name} has {len(types[name])} elements for {count} features")
    # The inputs: serialized, names, the keys of sparse and of dense features, the dense ones' defaults.
    inputs = parse_example_op.inputs[2:]
    if len(inputs) != sparse + 2 * dense:
        raise ValueError(f"{len(inputs)} inputs for {sparse} sparse and {dense} dense features")
    fetched = sess.run(list(inputs))
    names = [
        t.name for t in parse_example_op.outputs
    ]  # indices, values and shapes of sparse ones, dense ones
    config = example_parser_configuration_pb2.ExampleParserConfiguration()
    for i in range(dense):
        feature = config.feature_map[fetched[sparse + i]].fixed_len_feature
        feature.default_value.CopyFrom(tensor_util.make_tensor_proto(fetched[sparse + dense + i]))
        feature.shape.CopyFrom(tensor_shape.TensorShape(types["dense_shapes"][i]).as_proto())
        feature.dtype = types["Tdense"][i].as_datatype_enum
        feature.values_output_tensor_name = names[3 * sparse + i]
    for i in range(sparse):
        feature = config.feature_map[fetched[i]].var_len_feature
        feature.dtype = types["sparse_types"][i].as_datatype_enum
        feature.indices_output_tensor_name = names[i]
        feature.values_output_tensor_name = names[sparse + i]
        feature.shapes_output_tensor_name = names[2 * sparse + i]
    return config
