"""The message TrackableObjectGraph: which objects hold which, and which variables are theirs in a checkpoint."""

from google.protobuf import descriptor_pb2

from braid import protos

_NAME = "tensorflow.TrackableObjectGraph"

# (message, [(field, number, type, repeated)]); types that are no letters are messages.
_MESSAGES = {
    "ObjectReference": [("node_id", 1, "i"), ("local_name", 2, "s")],
    "SerializedTensor": [("name", 1, "s"), ("full_name", 2, "s"), ("checkpoint_key", 3, "s")],
    "SlotVariableReference": [
        ("original_variable_node_id", 1, "i"),
        ("slot_name", 2, "s"),
        ("slot_variable_node_id", 3, "i"),
    ],
}
_REPEATED = [
    ("children", 1, "ObjectReference"),
    ("attributes", 2, "SerializedTensor"),
    ("slot_variables", 3, "SlotVariableReference"),
]


def _describe():
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="tensorflow/core/protobuf/trackable_object_graph.proto", package="tensorflow", syntax="proto3"
    )
    graph = file.message_type.add(name="TrackableObjectGraph")
    thing = graph.nested_type.add(name="TrackableObject")
    for name, fields in _MESSAGES.items():
        message = thing.nested_type.add(name=name)
        for label, number, kind in fields:
            message.field.add(
                name=label,
                number=number,
                label=field.LABEL_OPTIONAL,
                type=field.TYPE_INT32 if kind == "i" else field.TYPE_STRING,
            )
    for label, number, kind in _REPEATED:
        thing.field.add(
            name=label,
            number=number,
            label=field.LABEL_REPEATED,
            type=field.TYPE_MESSAGE,
            type_name=f".{_NAME}.TrackableObject.{kind}",
        )
    graph.field.add(
        name="nodes",
        number=1,
        label=field.LABEL_REPEATED,
        type=field.TYPE_MESSAGE,
        type_name=f".{_NAME}.TrackableObject",
    )
    return file


def object_graph_class():
    """The class of the message."""
    try:
        return protos.message(_NAME)
    except KeyError:
        protos.pool.AddSerializedFile(_describe().SerializeToString())
        return protos.message(_NAME)
