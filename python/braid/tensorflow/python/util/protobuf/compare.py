"""Comparing messages, for tests."""

import collections.abc
import difflib

from google.protobuf import descriptor, message, text_format

# Digits behind the point that are compared of numbers of a type.
_DIGITS = {descriptor.FieldDescriptor.CPPTYPE_FLOAT: 6, descriptor.FieldDescriptor.CPPTYPE_DOUBLE: 7}

_LONG = 1 << 16  # characters of a message whose differences unittest is not to look for


def _text(pb):
    return text_format.MessageToString(pb, descriptor_pool=pb.DESCRIPTOR.file.pool)


def assertProtoEqual(self, a, b, check_initialized=True, normalize_numbers=False, msg=None):
    """Fails a test unless two messages are equal.

    a: also as text. normalize_numbers: see NormalizeNumberFields.
    """
    if isinstance(a, str):
        a = text_format.Parse(a, type(b)(), descriptor_pool=b.DESCRIPTOR.file.pool)
    for made in (a, b):
        if check_initialized and not made.IsInitialized():
            self.fail(f"Initialization errors: {made.FindInitializationErrors()}\n{made}")
    if normalize_numbers:
        a, b = (NormalizeNumberFields(_copy(made)) for made in (a, b))
    texts = _text(a), _text(b)
    if max(map(len, texts)) < _LONG:
        self.assertMultiLineEqual(*texts, msg=msg)
    elif texts[0] != texts[1]:
        diff = "\n".join(difflib.unified_diff(*(text.splitlines() for text in texts), lineterm=""))
        self.fail(f"{msg}\n{diff}" if msg else diff)


def _copy(pb):
    made = type(pb)()
    made.CopyFrom(pb)
    return made


def NormalizeNumberFields(pb):
    """Rounds the numbers of a message, and of those in it: floats to 6 digits behind the point, doubles to 7."""
    for field, value in pb.ListFields():
        if _is_map(field):
            for key in value:
                if field.message_type.fields_by_name["value"].message_type is not None:
                    NormalizeNumberFields(value[key])
                elif field.message_type.fields_by_name["value"].cpp_type in _DIGITS:
                    digits = _DIGITS[field.message_type.fields_by_name["value"].cpp_type]
                    value[key] = round(value[key], digits)
        elif field.message_type is not None:
            for inner in value if _is_repeated(field) else [value]:
                NormalizeNumberFields(inner)
        elif field.cpp_type in _DIGITS:
            digits = _DIGITS[field.cpp_type]
            if _is_repeated(field):
                value[:] = [round(number, digits) for number in value]
            else:
                setattr(pb, field.name, round(value, digits))
    return pb


def _is_repeated(field):
    repeated = getattr(field, "is_repeated", None)  # protobuf 6 and later
    return field.label == descriptor.FieldDescriptor.LABEL_REPEATED if repeated is None else repeated


def _is_map(field):
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def ProtoEq(a, b):
    """Whether two messages, or two values of fields, are equal. The order of a repeated field counts."""
    parts, others = _parts(a), _parts(b)
    if parts is None or others is None:
        return a == b
    return parts.keys() == others.keys() and all(ProtoEq(x, others[key]) for key, x in parts.items())


def _parts(value):
    """{number, key or place: part} of a message, of a map or of a repeated field; None of a number or a text."""
    if isinstance(value, message.Message):
        return {field.number: x for field, x in value.ListFields()}
    if isinstance(value, collections.abc.Mapping):
        return dict(value)
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        return None
    return dict(enumerate(value))


class ProtoAssertions:
    """A base for tests that compare messages."""

    assertProtoEqual = assertProtoEqual
