# protobuf's own text format for text_format_test.c: `make DIR GOLDEN SEED` writes messages, `check DIR`
# judges the answers.
#
# A case is a file N.bin (the message), N.txt (its text, as protobuf prints it, or other text that means it)
# and N.type; the answers are N.out.txt (text made of N.bin) and N.out.bin (message made of N.txt).
import difflib
import importlib
import math
import random
import struct
import subprocess
import sys
from pathlib import Path

import protos  # compiles the messages
from google.protobuf import symbol_database, text_format
from google.protobuf.descriptor import FieldDescriptor as Field

ROOTS = """
    AttrValue BundleEntryProto BundleHeaderProto CheckpointState ClusterDef ConfigProto
    CreateSessionRequest DeviceAttributes Event Example GraphDef JobDef MetaGraphDef NodeDef OpList
    RecvTensorResponse RegisterGraphRequest RunGraphRequest RunStepRequest SavedModel SequenceExample
    ServerDef StepStats Summary TensorProto
""".split()
NESTING = 6

# Texts that protobuf does not print itself.
WRITTEN = [
    ("CheckpointState", "model_checkpoint_path: 'a' \"b\"\n\t'\\x63\\144\\u00e9\\U0001F600' # comment\n;"),
    (
        "TensorProto",
        "int_val: [1, -2, 0x1f, -017], float_val: [1f, .5, 5., 1e3F, -inf, nan, infinity] int_val: 7;",
    ),
    (
        "TensorProto",
        "dtype: 1 tensor_shape < dim: [{size: 1}, <size: -1 name: 'x'>] > bool_val: [t, f, 1, 0, True, False]",
    ),
    ("TensorProto", "tensor_content: '\\377\\000\\1\\x9\\a\\b\\f\\n\\r\\t\\v\\\\\\?\\'\\\"'"),
    ("TensorProto", "double_val: 1e400 double_val: -1e-400 float_val: 3.4028236e38 float_val: 1e-46"),
    ("NodeDef", "attr: { key: 'b', value: { i: 0 } } attr < key: 'a' > attr { value { b: false } key: 'c' }"),
    ("GraphDef", ""),
]


def type_of(name):
    return symbol_database.Default().GetSymbol("tensorflow." + name)


# ---- Random messages ----

INTEGERS = {
    Field.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    Field.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    Field.CPPTYPE_UINT32: (0, 2**32 - 1),
    Field.CPPTYPE_UINT64: (0, 2**64 - 1),
}


def random_float(rng, single):
    kind = rng.randrange(6)
    if kind == 0:
        value = rng.choice(
            [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, 0.1, 1e15, 1e16, 1e-4, 1e-5, 5e-324]
        )
    elif kind == 1:
        value = 2.0 ** rng.randrange(-149 if single else -1074, 128 if single else 1024)
    elif kind == 2:
        value = rng.randrange(-(10**6), 10**6) / 10 ** rng.randrange(0, 8)
    else:
        code = "f" if single else "d"
        value = struct.unpack(code, rng.randbytes(struct.calcsize(code)))[0]
    if math.isnan(value):
        value = math.nan  # of a NaN's bits none survive text
    return struct.unpack("f", struct.pack("f", value))[0] if single else value


def random_value(rng, field):
    kind = field.cpp_type
    if kind in INTEGERS:
        low, high = INTEGERS[kind]
        return rng.choice([0, 1, low, high, rng.randint(low, high), rng.randint(max(low, -99), 99)])
    if kind in (Field.CPPTYPE_FLOAT, Field.CPPTYPE_DOUBLE):
        return random_float(rng, kind == Field.CPPTYPE_FLOAT)
    if kind == Field.CPPTYPE_BOOL:
        return rng.random() < 0.5
    if kind == Field.CPPTYPE_ENUM:
        return (
            rng.choice(field.enum_type.values).number
            if rng.random() < 0.9
            else rng.randint(-(2**31), 2**31 - 1)
        )
    if field.type == Field.TYPE_BYTES:
        return rng.randbytes(rng.randrange(0, 20))
    # No zero: protobuf-c's strings end there.
    return "".join(rng.choice("abz019_/:^ \n\t\"'\\\x01\x7fé€😀") for _ in range(rng.randrange(0, 12)))


def fill(rng, message, depth):
    for field in message.DESCRIPTOR.fields:
        if rng.random() < 0.5:
            continue
        repeated = field.label == Field.LABEL_REPEATED
        target = getattr(message, field.name)
        for _ in range(rng.randrange(0, 4) if repeated else 1):
            if repeated and field.message_type and field.message_type.GetOptions().map_entry:
                key = random_value(rng, field.message_type.fields_by_name["key"])
                value = field.message_type.fields_by_name["value"]
                if value.message_type:
                    if depth < NESTING:
                        fill(rng, target[key], depth + 1)
                else:
                    target[key] = random_value(rng, value)
            elif field.message_type:
                if depth < NESTING and field.message_type.full_name != "google.protobuf.Any":
                    sub = target.add() if repeated else target
                    if not repeated:
                        sub.SetInParent()
                    fill(rng, sub, depth + 1)
            elif repeated:
                target.append(random_value(rng, field))
            else:
                setattr(message, field.name, random_value(rng, field))


# ---- Cases ----


def encode(name, text):
    """The message that a text stands for to protoc, whose parser is not Python's."""
    message = type_of(name)
    command = ["protoc", f"--encode={message.DESCRIPTOR.full_name}", message.DESCRIPTOR.file.name]
    run = subprocess.run(command, cwd=protos.SOURCES, input=text.encode(), capture_output=True, check=True)
    return message.FromString(run.stdout)


def canonical(message):
    return message.SerializeToString(deterministic=True)


def write_case(folder, number, name, message, text=None):
    stem = folder / str(number)
    stem.with_suffix(".type").write_text(name)
    stem.with_suffix(".bin").write_bytes(canonical(message))
    stem.with_suffix(".txt").write_text(text if text is not None else text_format.MessageToString(message))


def make(folder, golden, seed):
    rng = random.Random(seed)
    cases = []
    for name, text in WRITTEN:
        cases.append((name, encode(name, text), text))
    for path in sorted(golden.glob("**/*.pb")):
        cases.append(("GraphDef", type_of("GraphDef").FromString(path.read_bytes())))
    for name in ROOTS:
        for _ in range(12):
            message = type_of(name)()
            fill(rng, message, 0)
            cases.append((name, message))
    for number, case in enumerate(cases):
        write_case(folder, number, *case)
    print(len(cases), "cases, seed", seed)


def difference(ours, theirs):
    lines = difflib.unified_diff(ours.splitlines(), theirs.splitlines(), "ours", "protobuf's", lineterm="")
    return "\n".join(list(lines)[:40])


def check(folder):
    checked = 0
    for path in sorted(folder.glob("*.type")):
        stem = path.with_suffix("")
        message_type = type_of(path.read_text())
        message = message_type.FromString(stem.with_suffix(".bin").read_bytes())
        text = Path(f"{stem}.out.txt").read_text()
        expected = text_format.MessageToString(message)
        assert text == expected, f"{stem}: the text differs from protobuf's\n{difference(text, expected)}"
        read = message_type.FromString(Path(f"{stem}.out.bin").read_bytes())
        assert canonical(read) == canonical(
            message
        ), f"{stem}: the message differs from protobuf's\n{difference(text_format.MessageToString(read), expected)}"
        checked += 1
    print(checked, "cases agree")
    assert checked > 0


for source in sorted(protos.SOURCES.glob("tensorflow/**/*.proto")):
    module = str(source.relative_to(protos.SOURCES).with_suffix("")).replace("/", ".") + "_pb2"
    importlib.import_module(module)
if sys.argv[1] == "make":
    make(Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
else:
    check(Path(sys.argv[2]))
