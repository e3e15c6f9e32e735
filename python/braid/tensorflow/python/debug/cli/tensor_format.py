"""Arrays as text: their lines know which elements they have."""

import re

import numpy as np

from braid.tensorflow.python.debug.cli import debugger_cli_common
from braid.tensorflow.python.debug.lib import debug_data

_NUMPY_OMISSION = "...,"
_NUMPY_DEFAULT_EDGE_ITEMS = 3
_NUMBER_REGEX = re.compile(r"[-+]?([0-9][-+0-9eE\.]+|nan|inf)(\s|,|\])")

BEGIN_INDICES_KEY = "i0"
OMITTED_INDICES_KEY = "omitted"
DEFAULT_TENSOR_ELEMENT_HIGHLIGHT_FONT_ATTR = "bold"


class HighlightOptions:
    """The elements for which criterion(array) is true have an attribute."""

    def __init__(self, criterion, description=None, font_attr=DEFAULT_TENSOR_ELEMENT_HIGHLIGHT_FONT_ATTR):
        self.criterion, self.description, self.font_attr = criterion, description, font_attr


def _label(tensor_label):
    """Its name is bold, a debug op behind it yellow."""
    head, _, suffix = tensor_label.rpartition(":")
    begin = len('Tensor "')
    if suffix.isdigit():
        segs = [(begin, begin + len(tensor_label), "bold")]
    else:
        middle = begin + len(tensor_label) - len(suffix) - 1
        segs = [(begin, middle, "bold"), (middle + 1, middle + 1 + len(suffix), "yellow")]
    return 'Tensor "%s":' % tensor_label, segs


def format_tensor(
    tensor,
    tensor_label,
    include_metadata=False,
    auxiliary_message=None,
    include_numeric_summary=False,
    np_printoptions=None,
    highlight_options=None,
):
    """RichTextLines of a value; of an array, they have the annotations that locate_tensor_element needs."""
    out = debugger_cli_common.RichTextLines([])
    if tensor_label is not None:
        out.append(*_label(tensor_label))
    if not isinstance(tensor, np.ndarray):
        # The repr of a scalar of numpy 2 names its type.
        is_shown = (debug_data.InconvertibleTensorProto, np.number, np.bool_)
        text = str(tensor) if isinstance(tensor, is_shown) else repr(tensor)
        lines = ([""] if out.lines else []) + text.split("\n")
        return debugger_cli_common.RichTextLines(out.lines + lines)
    if include_metadata:
        out.append("  dtype: %s" % str(tensor.dtype))
        out.append("  shape: %s" % str(tensor.shape))
    if out.lines:
        out.append("")
    if auxiliary_message:
        out.extend(auxiliary_message)
    if include_numeric_summary:
        out.append("Numeric summary:")
        out.extend(numeric_summary(tensor))
        out.append("")
    with np.printoptions(**(np_printoptions or {})):  # the program's own stay as they are
        array_lines = repr(tensor).split("\n")
    annotations = None
    if tensor.dtype.type is not np.bytes_:
        annotations = _annotate_ndarray_lines(array_lines, tensor, np_printoptions=np_printoptions)
    out.extend(debugger_cli_common.RichTextLines(array_lines, annotations=annotations))
    if highlight_options is not None:
        _highlight(out, tensor, highlight_options)
    return out


def _highlight(out, tensor, options):
    found = [list(indices) for indices in np.argwhere(options.criterion(tensor))]
    out.lines[0] += " Highlighted%s: %d of %d element(s) (%.2f%%)" % (
        "(%s)" % options.description if options.description else "",
        len(found),
        tensor.size,
        len(found) / float(tensor.size or 1) * 100.0,
    )
    if not found:
        return
    for is_omitted, row, start, end in zip(*locate_tensor_element(out, found)):
        if not is_omitted and start is not None and end is not None:
            out.font_attr_segs.setdefault(row, []).append((start, end, options.font_attr))


def _annotate_ndarray_lines(array_lines, tensor, np_printoptions=None, offset=0):
    """By line, the indices of its first element, or of the first that an ellipsis stands for."""
    edge_items = (np_printoptions or {}).get("edgeitems", _NUMPY_DEFAULT_EDGE_ITEMS)
    annotations = {"tensor_metadata": {"dtype": tensor.dtype, "shape": tensor.shape}}
    dims = tensor.shape
    indices, depth = [0] * len(dims), 0
    for i, line in enumerate(array_lines if dims else ()):
        line = line.strip()
        if not line:
            continue
        if line == _NUMPY_OMISSION:
            annotations[offset + i] = {OMITTED_INDICES_KEY: list(indices)}
            indices[depth - 1] = dims[depth - 1] - edge_items
            continue
        closing = line.count("]")
        depth += line.count("[") - closing
        annotations[offset + i] = {BEGIN_INDICES_KEY: list(indices)}
        if closing == 0:
            indices[depth - 1] += line[line.rfind("[") + 1 :].count(",")
        elif depth > 0:
            indices[depth - 1] += 1
            indices[depth:] = [0] * (len(dims) - depth)
    return annotations


def locate_tensor_element(formatted, indices):
    """Where an element is in the lines of format_tensor: (whether it is left out, line, first column, column
    behind it), or of a list of indices in ascending order four lists.
    """
    if "tensor_metadata" not in formatted.annotations:
        raise AttributeError("tensor_metadata is not available in annotations.")
    is_list = isinstance(indices[0], list)
    wanted = indices if is_list else [indices]
    _validate_indices_list(wanted, formatted)
    rows = [r for r in range(formatted.num_lines()) if r in formatted.annotations]
    begins = [next(iter(formatted.annotations[r].values())) for r in rows]
    found, place = [], 0
    while place < len(wanted):
        # The last line that begins at the element or before it.
        at = max((k for k, begin in enumerate(begins) if begin <= wanted[place]), default=0)
        after = begins[at + 1] if at + 1 < len(begins) else None
        here = [w for w in wanted[place:] if after is None or w < after]
        row, begin = (rows[at], begins[at]) if rows else (0, [0] * len(wanted[place]))
        is_omitted = OMITTED_INDICES_KEY in formatted.annotations.get(row, {})
        columns = _locate_elements_in_line(formatted.lines[row], here, begin)
        found += [(is_omitted, row, start, end) for start, end in zip(*columns)]
        place += len(here)
    return tuple(list(part) for part in zip(*found)) if is_list else found[0]


def _validate_indices_list(indices_list, formatted):
    dims = formatted.annotations["tensor_metadata"]["shape"]
    before = None
    for indices in indices_list:
        if len(indices) != len(dims):
            raise ValueError("Dimensions mismatch: requested: %d; actual: %d" % (len(indices), len(dims)))
        if any(index >= dim for index, dim in zip(indices, dims)):
            raise ValueError("Indices exceed tensor dimensions.")
        if any(index < 0 for index in indices):
            raise ValueError("Indices contain negative value(s).")
        if before and indices < before:
            raise ValueError("Input indices sets are not in ascending order.")
        before = indices


def _locate_elements_in_line(line, indices_list, ref_indices):
    """The columns of elements in the line whose first one has `ref_indices`; None behind an ellipsis."""
    end = line.find(_NUMPY_OMISSION) if _NUMPY_OMISSION in line else len(line)
    spans = [(m.start(), m.end() - 1) for m in _NUMBER_REGEX.finditer(line) if m.start() <= end]
    starts, ends = [], []
    for indices in indices_list:
        number = indices[-1] - ref_indices[-1] if indices else 0
        start, stop = spans[number] if 0 <= number < len(spans) else (None, None)
        starts.append(start)
        ends.append(stop)
    return starts, ends


def _table(counts, total=None):
    texts = [(key, str(value)) for key, value in counts]
    width = max((max(len(key), len(text)) + 1 for key, text in texts), default=0)
    lines = ["|" + "".join(item[i].rjust(width) for item in texts) + " |" for i in range(2)]
    if total is not None:
        width = max(len("total") + 1, len(str(total)))
        lines = [line + text.rjust(width) + " |" for line, text in zip(lines, ("total", str(total)))]
    return lines


def numeric_summary(tensor):
    """Counts of nan, inf, numbers below, at and above 0; of what is finite the range, mean and deviation."""
    if not isinstance(tensor, np.ndarray) or not tensor.size:
        lines = ["No numeric summary available due to empty tensor."]
    elif np.issubdtype(tensor.dtype, np.number):
        finite = tensor[np.isfinite(tensor)]
        counts = [
            ("nan", np.sum(np.isnan(tensor))),
            ("-inf", np.sum(np.isinf(tensor) & (tensor < 0))),
            ("-", np.sum(finite < 0)),
            ("0", np.sum(finite == 0)),
            ("+", np.sum(finite > 0)),
            ("+inf", np.sum(np.isinf(tensor) & (tensor > 0))),
        ]
        lines = _table([item for item in counts if item[1]], tensor.size)
        if finite.size:
            stats = [("min", np.min), ("max", np.max), ("mean", np.mean), ("std", np.std)]
            lines += _table([(name, f(finite)) for name, f in stats])
    elif tensor.dtype == bool:
        counts = [("False", np.sum(~tensor)), ("True", np.sum(tensor))]
        lines = _table([item for item in counts if item[1]], tensor.size)
    else:
        lines = ["No numeric summary available due to tensor dtype: %s." % tensor.dtype]
    return debugger_cli_common.RichTextLines(lines)
