"""Parsing of commands: words, slices of tensors, ranges, intervals of sizes and times."""

import argparse
import ast
import re
import sys

_BRACKETS_PATTERN = re.compile(r"\[[^\]]*\]")
_QUOTES_PATTERN = re.compile(r"(\"[^\"]*\"|\'[^\']*\')")
_NUMBER_PATTERN = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")


class Interval:
    """Values between two ends, each of which may be part of it."""

    def __init__(self, start, start_included, end, end_included):
        self.start, self.start_included = start, start_included
        self.end, self.end_included = end, end_included

    def contains(self, value):
        is_above = value > self.start or self.start_included and value == self.start
        is_below = value < self.end or self.end_included and value == self.end
        return is_above and is_below

    def __eq__(self, other):
        return vars(self) == vars(other)

    __hash__ = None


def parse_command(command):
    """The words of a command. Spaces within brackets or quotes divide none."""
    command = command.strip()
    kept = [m.span() for pattern in (_BRACKETS_PATTERN, _QUOTES_PATTERN) for m in pattern.finditer(command)]
    spaces = [m.span() for m in re.finditer(r"\s+", command)]
    words, begin = [], 0
    for start, end in spaces + [(len(command), None)] if command else []:
        if any(a < start < b for a, b in kept):
            continue
        word = command[begin:start]
        if spaces and len(word) > 1 and word[0] == word[-1] and word[0] in "\"'":
            word = word[1:-1]
        words.append(word)
        begin = end
    return words


def extract_output_file_path(args):
    """The words without "> FILE" at their end, and FILE, or None. An argument such as "-f >=1k" is none."""
    if not args:
        return args, None
    args, last = list(args), args[-1]
    if last.endswith(">"):
        raise SyntaxError("Redirect file path is empty")
    if last.startswith(">"):
        try:
            _parse_interval(last)
            is_interval = len(args) > 1 and args[-2].startswith("-")
        except ValueError:
            is_interval = False
        return (args, None) if is_interval else (args[:-1], last[1:])
    if len(args) > 1 and args[-2] == ">":
        return args[:-2], last
    if last.count(">") == 1:
        word, path = last.split(">")
        return (args, None) if word.endswith("=") else (args[:-1] + [word], path)
    if len(args) > 1 and args[-2].endswith(">"):
        return args[:-2] + [args[-2][:-1]], last
    return args, None


def parse_tensor_name_with_slicing(in_str):
    """("x:0", "[1, :]") of "x:0[1, :]"."""
    if in_str.count("[") == 1 and in_str.endswith("]"):
        begin = in_str.index("[")
        return in_str[:begin], in_str[begin:]
    return in_str, ""


def validate_slicing_string(slicing_string):
    return bool(re.search(r"^\[(\d|,|\s|:)+\]$", slicing_string))


def _parse_slices(slicing_string):
    parsed = []
    for item in slicing_string[1:-1].split(","):
        numbers = [int(number) if number.strip() else None for number in item.split(":")]
        if len(numbers) > 3:
            raise ValueError("Invalid tensor-slicing string.")
        parsed.append(slice(*numbers) if len(numbers) > 1 else int(item))
    return tuple(parsed)


def parse_indices(indices_string):
    """[1, 2] of "[1, 2]" and "1, 2"."""
    text = re.sub(r"\s+", "", indices_string)
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    return [int(number) for number in text.split(",")]


def parse_ranges(range_string):
    """A list of pairs, of "[[-inf, 0], [1, 2]]", "[0, 1]" or "0, 1"."""
    text = range_string.strip().replace("inf", repr(sys.float_info.max))
    if not text:
        return []
    ranges = ast.literal_eval(text)
    if isinstance(ranges, list) and not isinstance(ranges[0], list):
        ranges = [ranges]
    elif isinstance(ranges, tuple) and ranges and isinstance(ranges[0], (int, float)):
        ranges = [list(ranges)]
    for item in ranges:
        if len(item) != 2:
            raise ValueError("Incorrect number of elements in range")
        for place, number in zip(("1st", "2nd"), item):
            if not isinstance(number, (int, float)):
                raise ValueError("Incorrect type in the %s element of range: %s" % (place, type(number)))
    return ranges


def _typed_interval(interval_str, parse, order):
    interval = _parse_interval(interval_str)
    start = parse(interval.start) if interval.start else 0
    end = parse(interval.end) if interval.end else float("inf")
    if start > end:
        raise ValueError("Invalid interval %s. %s" % (interval_str, order))
    return Interval(start, interval.start_included, end, interval.end_included)


def parse_memory_interval(interval_str):
    """An interval of bytes: "[1k, 2M)", ">10B", "<=1G"."""
    return _typed_interval(
        interval_str,
        parse_readable_size_str,
        "Start of interval must be less than or equal to end of interval.",
    )


def parse_time_interval(interval_str):
    """An interval of microseconds: "[1us, 2ms)", ">10", "<=1s"."""
    return _typed_interval(interval_str, parse_readable_time_str, "Start must be before end of interval.")


def _parse_interval(interval_str):
    text = interval_str.strip()
    for sign in ("<=", "<", ">=", ">"):
        if not text.startswith(sign):
            continue
        value, included = text[len(sign) :].strip(), sign.endswith("=")
        if not _NUMBER_PATTERN.match(value):
            raise ValueError("Invalid value string after %s in '%s'" % (sign, text))
        if sign[0] == "<":
            return Interval(start=None, start_included=False, end=value, end_included=included)
        return Interval(start=value, start_included=included, end=None, end_included=False)
    if not text.startswith(("[", "(")) or not text.endswith(("]", ")")):
        raise ValueError(
            "Invalid interval format: %s. Valid formats are: [min, max], (min, max), <max, >min" % text
        )
    items = [item.strip() for item in text[1:-1].split(",")]
    if len(items) != 2:
        raise ValueError(
            "Incorrect interval format: %s. Interval should specify two values: [min, max] or (min, max)."
            % text
        )
    for place, item in zip(("first", "second"), items):
        if not _NUMBER_PATTERN.match(item):
            raise ValueError("Invalid %s item in interval: '%s'" % (place, item))
    return Interval(items[0], text[0] == "[", items[1], text[-1] == "]")


_SIZES = {"k": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse_readable_size_str(size_str):
    """Bytes of "10", "1.5k", "2MB"."""
    text = size_str.strip()
    text = text[:-1] if text.endswith("B") else text
    if text.isdigit():
        return int(text)
    if text and text[-1] in _SIZES:
        return int(float(text[:-1]) * _SIZES[text[-1]])
    raise ValueError('Failed to parsed human-readable byte size str: "%s"' % text)


def parse_readable_time_str(time_str):
    """Microseconds of "10", "10us", "1.5ms", "2s"."""
    text, factor = time_str.strip(), 1
    for unit, micros in (("us", 1), ("ms", 1000), ("s", 1000000)):
        if text.endswith(unit):
            text, factor = text[: -len(unit)], micros
            break
    value = float(text)
    if value < 0:
        raise ValueError("Invalid time %s. Time value must be positive." % text)
    return int(value * factor)


def evaluate_tensor_slice(tensor, tensor_slicing):
    """tensor[1, :] of a tensor and "[1, :]"."""
    if not validate_slicing_string(tensor_slicing):
        raise ValueError("Invalid tensor-slicing string.")
    return tensor[_parse_slices(tensor_slicing)]


def get_print_tensor_argparser(description):
    """The arguments of print_tensor and print_feed."""
    ap = argparse.ArgumentParser(description=description, usage=argparse.SUPPRESS)
    ap.add_argument(
        "tensor_name",
        type=str,
        help="the tensor, and what of it: hidden1/Wx_plus_b/MatMul:0, hidden1/Wx_plus_b/MatMul:0[1, :]",
    )
    ap.add_argument(
        "-n",
        "--number",
        dest="number",
        type=int,
        default=-1,
        help="which of the dumps of a tensor that has several, from 0",
    )
    ap.add_argument(
        "-r",
        "--ranges",
        dest="ranges",
        type=str,
        default="",
        help='elements to highlight: -r 0,1e-8, -r [-0.1,0.1], -r "[[-inf, -0.1], [0.1, inf]]"',
    )
    ap.add_argument(
        "-a", "--all", dest="print_all", action="store_true", help="print all elements, without ellipses"
    )
    ap.add_argument(
        "-s",
        "--numeric_summary",
        action="store_true",
        help="add counts of nan, inf, 0 and others, the range, mean and standard deviation",
    )
    ap.add_argument(
        "-w", "--write_path", type=str, default="", help="write the array to this file (numpy.save)"
    )
    return ap
