"""Random programs of TensorFlow 1, each given by a seed.

    programs.py SEED    prints the program

A program is a list of pieces of Python. Each piece is a row of the tables below, or of programs.txt, whose
{...} are filled:

    {K:SHAPE:RANGE}  an argument of kind K: f float32, x float32 that both sides have without rounding, p
                     above 0, u in (0, 1), t in (-1, 1), d float64, c complex64, h float16, i int32, l int64,
                     q uint8, b bool, s string. SHAPE: numbers, letters (a size of 1 to 4, the same in the
                     whole piece), $ (a shape of the whole piece), $b (one that broadcasts to it); without
                     SHAPE any. K! has a known shape
    {n:LOW,HIGH}     an integer, {?:a|b|c} one of these words
    @                the number of the piece, for names

What stands before " = " are the kinds of the results, which later pieces may take; "-" is not taken. A piece
may append to `steps` what is to be run for itself, in order, after the results. The names of the namespace
are in run_programs.py.
"""

import random
import re
import sys
from pathlib import Path

DOMAINS = {
    # functions of one tensor of float32, by the arguments at which they are smooth
    "f": """tf.negative tf.square tf.sin tf.cos tf.sigmoid tf.tanh tf.nn.softplus tf.nn.elu tf.nn.selu tf.atan
        tf.asinh tf.erf tf.nn.softsign tf.identity tf.log_sigmoid tf.math.erfc tf.nn.swish
        tf.nn.l2_loss tf.zeros_like tf.ones_like tf.stop_gradient tf.math.bessel_i0e tf.math.bessel_i1e
       """,
    "t": "tf.exp tf.expm1 tf.sinh tf.cosh tf.tan tf.asin tf.acos tf.atanh",
    "p": """tf.log tf.log1p tf.sqrt tf.rsqrt tf.reciprocal tf.lgamma tf.digamma""",
    "x": """tf.abs tf.sign tf.floor tf.ceil tf.round tf.rint tf.nn.relu tf.nn.relu6 tf.nn.leaky_relu
        tf.zeros_like tf.ones_like""",
}

BINARY = {
    "f f": "tf.add tf.subtract tf.multiply tf.squared_difference tf.math.multiply_no_nan",
    "f p": "tf.divide tf.truediv tf.div tf.div_no_nan tf.realdiv tf.atan2",
    "x x": "tf.maximum tf.minimum tf.math.divide_no_nan",
    "p p": "tf.pow tf.math.xlogy tf.math.xdivy tf.math.igamma tf.math.igammac",
}

COMPARED = "tf.equal tf.not_equal tf.less tf.less_equal tf.greater tf.greater_equal"

REDUCED = "tf.reduce_sum tf.reduce_mean tf.reduce_max tf.reduce_min tf.reduce_prod tf.reduce_logsumexp \
    tf.math.reduce_std tf.math.reduce_variance tf.math.reduce_euclidean_norm"


def _rows():
    rows = []
    for kind, names in DOMAINS.items():
        result = "x" if kind == "x" else "f"
        rows += [f"{result} = {name}({{{kind}}})" for name in names.split()]
    for kinds, names in BINARY.items():
        a, b = kinds.split()
        result = "x" if a == "x" else "f"
        rows += [f"{result} = {name}({{{a}:$}}, {{{b}:$b}})" for name in names.split()]
    rows += [f"b = {name}({{{k}:$}}, {{{k}:$b}})" for name in COMPARED.split() for k in "xi"]
    for name in REDUCED.split():
        kind = "x" if name.endswith(("max", "min")) else "f"
        rows.append(f"f = {name}({{{kind}:A,B,C}}, {{?:None|0|1|-1|[0, 2]}}, keepdims={{?:True|False}})")
        if "_m" in name or "sum" in name:
            rows.append(f"f = {name}({{{kind}}})")
    lines, pieces = (Path(__file__).parent / "programs.txt").read_text(encoding="utf-8").split("\n# ")
    rows += [line for line in lines.splitlines()[1:] if line]
    return rows + pieces.strip("\n").split("\n\n")[1:]


ROWS = _rows()
HOLE = re.compile(r"\{([a-z?]!?|[A-E])(?::([^{}:]*(?:\{[^{}]*\}[^{}:]*)*))?(?::([^{}]*))?\}")
FLOATS = "fxput"
NUMPY = {
    "d": "float64",
    "h": "float16",
    "i": "int32",
    "l": "int64",
    "q": "uint8",
    "b": "bool",
    "c": "complex64",
}
WORDS = ["", "a", "ab", "hello world", "Abc", "x1 y2", "aeb cab", "7"]


class Writer:
    """Writes the pieces of one program."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.pool = []  # (name, kind, exact)
        self.pieces = []
        self.count = 0

    def shape(self, least=0):
        return [self.random.randint(1, 4) for _ in range(self.random.randint(least, 3))]

    def numbers(self, kind, shape, bounds):
        count = 1
        for size in shape:
            count *= size
        r = self.random
        if kind == "s":
            return [r.choice(WORDS) for _ in range(count)]
        if kind == "b":
            return [r.random() < 0.5 for _ in range(count)]
        if kind in "ilq":
            low, high = (
                (int(b) for b in bounds.split(",")) if bounds else ((0, 255) if kind == "q" else (-5, 6))
            )
            return [r.randrange(low, high) for _ in range(count)]
        if kind == "p":
            return [r.randint(1, 16) / 4 for _ in range(count)]
        if kind == "u":
            return [r.randint(1, 15) / 16 for _ in range(count)]
        if kind == "t":
            return [r.randint(-15, 15) / 16 for _ in range(count)]
        if kind == "c":
            return [complex(r.randint(-8, 8) / 4, r.randint(-8, 8) / 4) for _ in range(count)]
        return [r.randint(-12, 12) / 4 for _ in range(count)]

    def new(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    def leaf(self, kind, shape, bounds=None, static=False):
        """A constant, placeholder or variable of some numbers; its name."""
        name = self.new("v")
        numbers = self.numbers(kind, shape, bounds)
        if kind == "s":
            array = f"np.array({numbers!r}, object).reshape({shape})"
            dtype = "string"
        else:
            dtype = NUMPY.get(kind, "float32")
            array = f"np.array({numbers!r}, np.{dtype if dtype != 'bool' else 'bool_'}).reshape({shape})"
        how = self.random.random()
        if how < 0.45 or kind in "s" and how < 0.7:
            text = f"{name} = tf.constant({array}, tf.{dtype})"
        elif how < 0.75:
            hidden = list(shape)
            if not static:
                hidden = [None if self.random.random() < 0.3 else size for size in shape]
            if not static and self.random.random() < 0.05:
                hidden = None
            text = f"{name} = tf.placeholder(tf.{dtype}, {hidden})\nfeeds[{name}] = {array}"
        elif how < 0.9 and kind not in "sqhb":
            resource = self.random.choice(["", ", use_resource=True"])
            text = f'{name} = tf.get_variable("leaf{self.count}", initializer=tf.constant({array}, tf.{dtype}){resource})'
        else:
            text = f"{name} = tf.convert_to_tensor({array})"
            if kind == "s":
                text = f"{name} = tf.constant({array})"
        self.pieces.append(text)
        self.pieces.append(f'keep("{name}", {name})')
        if kind in FLOATS:
            self.pool.append((name, "f", True))
            self.leaves.append(name)
        else:
            self.pool.append((name, kind, True))
        return name

    leaves = None

    def argument(self, kind, shape, bounds, static):
        """Text of an argument."""
        base = "f" if kind in FLOATS else kind
        if kind in "ilq" and bounds or kind in "hq":
            return self.leaf(kind, self.shape() if shape is None else shape, bounds, static)
        known = [(n, e) for n, k, e in self.pool if k == base and (kind != "x" or e)]
        if not known or self.random.random() < 0.35:
            name, exact = self.leaf(kind, self.shape() if shape is None else shape, bounds, static), True
            self.exact &= exact
            return name
        name, exact = self.random.choice(known[-12:] if self.random.random() < 0.7 else known)
        self.exact &= exact
        text = name
        if kind == "f":
            text = f"bounded({name})" if self.random.random() < 0.4 else name
            self.exact &= text == name
        elif kind == "x":
            text = f"tf.clip_by_value({name}, -16.0, 16.0)"
        elif kind in "dc":
            text = f"bounded({name})"
        elif kind in "il":
            text = f"small({name})"
        if shape is not None:
            text = f"fit({text}, {shape})"
        if kind == "p":
            self.exact = False
            return f"(tf.abs(bounded({text})) + 0.5)"
        if kind == "u":
            self.exact = False
            return f"tf.sigmoid(tf.tanh({text}))"
        if kind == "t":
            self.exact = False
            return f"(tf.tanh({text}) * 0.75)"
        return text

    def fill(self, row):
        sizes, shapes = {}, {}
        self.exact = True
        self.row_number = self.new("")

        def size(word):
            word = word.strip()
            if word.isdigit():
                return int(word)
            return sizes.setdefault(word, self.random.randint(1, 4))

        def hole(found):
            kind, first, second = found.groups()
            if kind == "?":
                return self.random.choice(
                    first.split("|") if second is None else f"{first}:{second}".split("|")
                )
            if kind == "n":
                low, high = first.split(",")
                return str(self.random.randint(int(low), int(high)))
            if kind in "ABCDE":
                return str(size(kind))
            static, kind = kind.endswith("!"), kind[0]
            if first is None:
                shape = None
            elif first in ("$", "$b"):
                whole = shapes.setdefault("$", self.shape())
                shape = whole
                if first == "$b":
                    shape = [1 if self.random.random() < 0.25 else s for s in whole]
                    shape = (
                        shape[self.random.randint(0, len(shape)) :] if self.random.random() < 0.3 else shape
                    )
            else:
                shape = [size(word) for word in first.split(",") if word]
            return self.argument(kind, shape, second, static)

        while True:  # the words of a choice may have holes of their own: inner ones first
            filled = re.sub(r"\{\?:((?:[^{}]|\{[^{}]*\})*)\}", self.choose, row)
            if filled == row:
                break
            row = filled
        return HOLE.sub(hole, row).replace("@", self.row_number)

    def choose(self, found):
        depth, words, word = 0, [], ""
        for c in found.group(1):
            depth += (c == "{") - (c == "}")
            if c == "|" and depth == 0:
                words.append(word)
                word = ""
            else:
                word += c
        return self.random.choice([*words, word])

    def add(self, row):
        kinds, equals, text = row.partition(" = ")
        if not (equals and re.fullmatch(r"[fxilbsdc-](,[fxilbsdc-])*", kinds)):
            text = self.fill(row)
            self.pieces.append(text)
            return
        text = self.fill(text)
        names = [self.new("v") for _ in kinds.split(",")]
        text = f"{', '.join(names)} = {text}"
        if self.random.random() < 0.1:
            text = f'with tf.name_scope("scope{self.random.randint(1, 3)}"):\n    {text}'
        self.pieces.append(text)
        for name, kind in zip(names, kinds.split(",")):
            self.pieces.append(f'keep("{name}", {name})')
            if kind != "-":
                self.pool.append((name, "f" if kind == "x" else kind, kind not in "f" and self.exact))

    def gradients(self):
        """Derivatives of some results by the leaves."""
        results = [n for n, k, _ in self.pool if k == "f" and n not in self.leaves]
        for y in self.random.sample(results, min(3, len(results))):
            xs = self.random.sample(self.leaves, min(4, len(self.leaves)))
            name = self.new("v")
            self.pieces.append(f"{name} = tf.gradients({y}, [{', '.join(xs)}])")
            self.pieces.append(f'keep("{name}", {name})')


def program(seed, rows=30):
    """The pieces of the program of a seed: texts of Python."""
    writer = Writer(seed)
    writer.leaves = []
    order = random.Random(seed // 20)  # programs of neighbouring seeds share the rows out among themselves
    shuffled = order.sample(range(len(ROWS)), len(ROWS))
    start = seed % 20 * rows
    chosen = [ROWS[shuffled[(start + i) % len(ROWS)]] for i in range(rows)]
    writer.random.shuffle(chosen)
    for row in chosen:
        writer.add(row)
    writer.gradients()
    return writer.pieces


if __name__ == "__main__":
    print("\n".join(program(int(sys.argv[1]))))
