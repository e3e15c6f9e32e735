"""Comparing messages, for tests."""

import difflib

from google.protobuf import descriptor, text_format

_FLOATS = (descriptor.FieldDescriptor.CPPTYPE_FLOAT, descriptor.FieldDescriptor.CPPTYPE_DOUBLE)


def _lines(message):
    text = text_format.MessageToString(message, descriptor_pool=message.DESCRIPTOR.file.pool)
    return text.splitlines()


def assertProtoEqual(self, a, b, check_initialized=True, normalize_numbers=False, msg=None):
    """Fails a test unless two messages are equal.

    a: also as text. normalize_numbers: see NormalizeNumberFields.
    """
    if isinstance(a, str):
        a = text_format.Parse(a, type(b)(), descriptor_pool=b.DESCRIPTOR.file.pool)
    for message in (a, b):
        if check_initialized and not message.IsInitialized():
            self.fail(f"Initialization errors: {message.FindInitializationErrors()}\n{message}")
    if normalize_numbers:
        a, b = (NormalizeNumberFields(_copy(message)) for message in (a, b))
    if not ProtoEq(a, b):
        lines = [_lines(message) for message in (a, b)]
        diff = "\n".join(difflib.ndiff(*lines))
        self.fail(f"{msg}\n{diff}" if msg else diff)


def _copy(message):
    made = type(message)()
    made.CopyFrom(message)
    return made


def NormalizeNumberFields(pb):
    """Rounds the floating-point numbers of a message, and of those in it, to 6 digits behind the point."""
    for field, value in pb.ListFields():
        if _is_map(field):
            for key in value:
                if field.message_type.fields_by_name["value"].message_type is not None:
                    NormalizeNumberFields(value[key])
                elif field.message_type.fields_by_name["value"].cpp_type in _FLOATS:
                    value[key] = round(value[key], 6)
        elif field.message_type is not None:
            for inner in value if _is_repeated(field) else [value]:
                NormalizeNumberFields(inner)
        elif field.cpp_type in _FLOATS:
            if _is_repeated(field):
                value[:] = [round(number, 6) for number in value]
            else:
                setattr(pb, field.name, round(value, 6))
    return pb


def _is_repeated(field):
    repeated = getattr(field, "is_repeated", None)  # protobuf 6 and later
    return field.label == descriptor.FieldDescriptor.LABEL_REPEATED if repeated is None else repeated


def _is_map(field):
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def ProtoEq(a, b):
    """Whether two messages have the same fields."""
    return a.SerializeToString(deterministic=True) == b.SerializeToString(deterministic=True)
