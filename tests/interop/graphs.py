# Graphs and tensors as messages: NodeDefs with attrs, TensorProtos from and to plain Python values.
import struct

from google.protobuf import text_format

from protos import attr_value_pb2, graph_pb2, node_def_pb2, tensor_pb2, tensor_shape_pb2, types_pb2

# ---- Types ----


class Type(int):
    """A dtype: as an attr it is `type`, where a plain int is `i`."""


class Shape(list):
    """A shape as an attr: Shape([2, -1]); Shape(None) is of unknown rank."""

    def __init__(self, dims):
        super().__init__(dims or [])
        self.is_unknown = dims is None

    def proto(self):
        shape = tensor_shape_pb2.TensorShapeProto(unknown_rank=self.is_unknown)
        for size in self:
            shape.dim.add(size=size)
        return shape


FLOAT, DOUBLE, INT32, UINT8 = Type(1), Type(2), Type(3), Type(4)
INT16, INT8, STRING, COMPLEX64 = Type(5), Type(6), Type(7), Type(8)
INT64, BOOL, UINT16, COMPLEX128 = Type(9), Type(10), Type(17), Type(18)
HALF, UINT32, UINT64 = Type(19), Type(22), Type(23)
RESOURCE, VARIANT = Type(20), Type(21)

# struct's letter of an element, and the field of TensorProto that holds elements one by one.
ELEMENTS = {
    FLOAT: ("f", "float_val"),
    DOUBLE: ("d", "double_val"),
    HALF: ("e", "half_val"),
    BOOL: ("?", "bool_val"),
    INT8: ("b", "int_val"),
    INT16: ("h", "int_val"),
    INT32: ("i", "int_val"),
    INT64: ("q", "int64_val"),
    UINT8: ("B", "int_val"),
    UINT16: ("H", "int_val"),
    UINT32: ("I", "uint32_val"),
    UINT64: ("Q", "uint64_val"),
}

# ---- Tensors ----


def type_of(value):
    for kind, dtype in ((bool, BOOL), (int, INT32), (float, FLOAT), ((bytes, str), STRING)):
        if isinstance(value, kind):
            return dtype
    raise TypeError(f"no dtype for {value!r}")


def flatten(values):
    """The elements of nested lists, and their shape."""
    if not isinstance(values, (list, tuple)):
        return [values], []
    parts = [flatten(v) for v in values]
    inner = parts[0][1] if parts else []
    assert all(shape == inner for _, shape in parts), f"ragged: {values}"
    return [v for elements, _ in parts for v in elements], [len(values)] + inner


def tensor(values, dtype=None):
    """A TensorProto from a value or nested lists, its elements in tensor_content (strings in string_val)."""
    elements, shape = flatten(values)
    dtype = dtype or type_of(elements[0])
    if dtype == STRING:
        strings = [v.encode() if isinstance(v, str) else v for v in elements]
        return tensor_pb2.TensorProto(dtype=dtype, tensor_shape=Shape(shape).proto(), string_val=strings)
    return tensor_of_bytes(struct.pack(f"<{len(elements)}{ELEMENTS[dtype][0]}", *elements), shape, dtype)


def tensor_of_bytes(content, shape, dtype=FLOAT):
    return tensor_pb2.TensorProto(dtype=dtype, tensor_shape=Shape(shape).proto(), tensor_content=content)


def tensor_by_element(elements, shape, dtype):
    """The other form of a TensorProto; elements left out at the end repeat the last one."""
    t = tensor_pb2.TensorProto(dtype=dtype, tensor_shape=Shape(shape).proto())
    if dtype == HALF:
        elements = [struct.unpack("<H", struct.pack("<e", v))[0] for v in elements]
    getattr(t, ELEMENTS[dtype][1]).extend(elements)
    return t


def shape_of(t):
    return [dim.size for dim in t.tensor_shape.dim]


def elements_of(t):
    if t.dtype == STRING:
        return list(t.string_val)
    letter, field = ELEMENTS[Type(t.dtype)]
    count = 1
    for size in shape_of(t):
        count *= size
    if t.tensor_content:
        return list(struct.unpack(f"<{count}{letter}", t.tensor_content))
    elements = list(getattr(t, field))
    if t.dtype == HALF:
        elements = [struct.unpack("<e", struct.pack("<H", v))[0] for v in elements]
    return elements + elements[-1:] * (count - len(elements))


def value(t):
    """The value of a TensorProto: a scalar or nested lists."""
    elements, shape = elements_of(t), shape_of(t)
    for size in reversed(shape[1:]):
        elements = [elements[i : i + size] for i in range(0, len(elements), size)] if size else []
    return elements if shape else elements[0]


# ---- Nodes ----


def set_attr(v, out):
    if isinstance(v, Shape):
        out.shape.CopyFrom(v.proto())
    elif isinstance(v, Type):
        out.type = v
    elif isinstance(v, bool):
        out.b = v
    elif isinstance(v, int):
        out.i = v
    elif isinstance(v, float):
        out.f = v
    elif isinstance(v, tensor_pb2.TensorProto):
        out.tensor.CopyFrom(v)
    elif isinstance(v, (list, tuple)):
        out.list.SetInParent()
        for element in v:
            append_attr(element, out.list)
    else:
        out.s = v.encode() if isinstance(v, str) else v


def append_attr(v, items):
    single = attr_value_pb2.AttrValue()
    set_attr(v, single)
    field = single.WhichOneof("value")
    if field in ("tensor", "shape"):
        getattr(items, field).add().CopyFrom(getattr(single, field))
    else:
        getattr(items, field).append(getattr(single, field))


def node(name, op, *inputs, device="", **attrs):
    n = node_def_pb2.NodeDef(name=name, op=op, input=inputs, device=device)
    for key, v in attrs.items():
        set_attr(v, n.attr[key])
    return n


def graph(*nodes):
    g = graph_pb2.GraphDef()
    g.versions.producer = 24
    g.node.extend(nodes)
    return g


def with_library(library, *nodes):
    """A graph with functions, which are given as text."""
    g = graph(*nodes)
    text_format.Merge(f"library {{ {library} }}", g)
    return g


def func(n, **functions):
    """Sets attrs that name functions."""
    for attr, name in functions.items():
        n.attr[attr].func.name = name
    return n


def const(name, v, dtype=None, device=""):
    t = tensor(v, dtype)
    return node(name, "Const", device=device, dtype=Type(t.dtype), value=t)


def placeholder(name, dtype=FLOAT, shape=None, device=""):
    return node(name, "Placeholder", device=device, dtype=dtype, shape=Shape(shape))


def variable(name, shape, dtype=FLOAT, device="", initial=None, **attrs):
    """A variable NAME, its value NAME/read and, with an initial value, its initializer NAME/init."""
    nodes = [node(name, "VariableV2", device=device, dtype=dtype, shape=Shape(shape), **attrs)]
    if initial is not None:
        nodes.append(const(f"{name}/initial", initial, dtype, device))
        nodes.append(node(f"{name}/init", "Assign", name, f"{name}/initial", device=device, T=dtype))
    nodes.append(node(f"{name}/read", "Identity", name, device=device, T=dtype, _class=[f"loc:@{name}"]))
    return nodes


def beginning(device=""):
    """What Session.start_and_await_beginning adds to a step."""
    return [
        *variable("begun", [], FLOAT, device, 0.0),
        const("begin/one", 1.0, FLOAT, device),
        node("begin", "AssignAdd", "begun", "begin/one", device=device, T=FLOAT),
    ]


def endless_loop(name, device=""):
    """A while loop whose condition stays true. Its end would be NAME/exit."""
    return [
        node(f"{name}/true", "Const", device=device, dtype=BOOL, value=tensor(True)),
        node(f"{name}/enter", "Enter", f"{name}/true", device=device, T=BOOL, frame_name=name),
        node(f"{name}/merge", "Merge", f"{name}/enter", f"{name}/next", device=device, T=BOOL, N=2),
        node(f"{name}/cond", "LoopCond", f"{name}/merge", device=device),
        node(f"{name}/switch", "Switch", f"{name}/merge", f"{name}/cond", device=device, T=BOOL),
        node(f"{name}/next", "NextIteration", f"{name}/switch:1", device=device, T=BOOL),
        node(f"{name}/exit", "Exit", f"{name}/switch", device=device, T=BOOL),
    ]
