"""Makes the expressions of a function that may depend on tensors calls of AutoGraph's operators: calls,
`and`, `or`, `not`, conditional expressions, and with optional features `==`, `!=`, `assert` and lists."""

import ast

from braid.tensorflow.python.autograph.core.converter import Feature
from braid.tensorflow.python.autograph.pyct import fragments

# These look at the frame that calls them.
_CALLED_AS_THEY_ARE = set("super breakpoint pdb.set_trace ipdb.set_trace locals vars dir exec eval".split())
_OF_A_GENERATOR = (ast.Yield, ast.YieldFrom, ast.Await)


def convert(function, options, names, convert_function, first_argument):
    """Rewrites the body of a FunctionDef in place. `convert_function(node, first_argument)` converts a
    function within it. `first_argument`: the name of the first argument of the method that it is in, for
    super()."""
    transformer = _Expressions(options, names, convert_function, first_argument)
    transformer.types = _element_types(function) if options.uses(Feature.LISTS) else {}
    function.body = transformer.statements(function.body)


def _call(name, *args):
    function = ast.Attribute(ast.Name("ag__", ast.Load()), name, ast.Load())
    return ast.Call(function, list(args), [])


def _thunk(node):
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), node)


def _cannot_move(node):
    """Whether an expression has to stay in the function that it is in."""
    return any(isinstance(each, (*_OF_A_GENERATOR, ast.NamedExpr)) for each in ast.walk(node))


class _Expressions(ast.NodeTransformer):
    def __init__(self, options, names, convert_function, first_argument):
        self._uses = options.uses
        self._names = names
        self.types = {}  # of the elements of lists, by name
        self._convert_function = convert_function
        self._first_argument = first_argument
        self._before = []  # statements that have to run before the one that is visited

    def statements(self, block):
        out = []
        for statement in block:
            outside, self._before = self._before, []
            new = self.visit(statement)
            out += self._before + (new if isinstance(new, list) else [new])
            self._before = outside
        return out

    def generic_visit(self, node):
        for field, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                setattr(node, field, self.statements(value))
            elif isinstance(value, list):
                setattr(
                    node, field, [self.visit(each) if isinstance(each, ast.AST) else each for each in value]
                )
            elif isinstance(value, ast.AST):
                setattr(node, field, self.visit(value))
        if getattr(node, "extra_test", None):
            node.extra_test = self.visit(node.extra_test)
        return node

    def _new(self, node, at):
        """`node`, new, at the place of `at`, which may be a part of it."""
        for each in ast.walk(node):
            if "lineno" in each._attributes and not hasattr(each, "lineno"):
                fragments.place(each, at)
        return node

    # ---- functions ----

    def visit_FunctionDef(self, node):
        return self._convert_function(node, self._first_argument)

    visit_Lambda = visit_FunctionDef

    def visit_AsyncFunctionDef(self, node):
        return node

    visit_ClassDef = visit_AsyncFunctionDef

    def visit_With(self, node):
        node.body = self.statements(node.body)  # context managers are called as they are
        return node

    visit_AsyncWith = visit_With

    def visit_AnnAssign(self, node):
        """Variables that blocks share have no annotations."""
        node.value = node.value and self.visit(node.value)
        if not isinstance(node.target, ast.Name):
            return node
        return ast.copy_location(ast.Assign([node.target], node.value) if node.value else ast.Pass(), node)

    # ---- calls ----

    def visit_Call(self, node):
        name = _dotted(node.func)
        node = self.generic_visit(node)
        if self._uses(Feature.LISTS) and name.endswith(".pop") and len(node.args) <= 1 and not node.keywords:
            if isinstance(node.func.value, ast.Name):
                return self._pop(node)
        if self._uses(Feature.LISTS) and name.split(".")[-1] == "stack" and len(node.args) == 1:
            if not node.keywords:
                types = self._element_type(node.args[0])[:1] or [ast.Constant(None)]
                return self._new(_call("list_stack", node.args[0], *types, node.func), node)
        if name == "super" and not node.args and self._first_argument:
            node.args = [ast.Name("__class__", ast.Load()), ast.Name(self._first_argument, ast.Load())]
            self._new(node, node)
        if name.startswith("ag__.") or name in _CALLED_AS_THEY_ARE:
            return node
        if name == "print" and not self._uses(Feature.BUILTIN_FUNCTIONS):
            return node
        node.func = self._new(_call("converted", node.func), node)
        return node

    # ---- logic ----

    def visit_BoolOp(self, node):
        node = self.generic_visit(node)
        if _cannot_move(node):
            return node
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        right = node.values[-1]
        for left in reversed(node.values[:-1]):
            right = _call(name, _thunk(left), _thunk(right))
        return self._new(right, node)

    def visit_UnaryOp(self, node):
        node = self.generic_visit(node)
        return self._new(_call("not_", node.operand), node) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node):
        node = self.generic_visit(node)
        if not self._uses(Feature.EQUALITY_OPERATORS) or _cannot_move(node):
            return node
        pairs, left = [], node.left
        for op, right in zip(node.ops, node.comparators):
            name = {ast.Eq: "eq", ast.NotEq: "not_eq"}.get(type(op))
            pairs.append(_call(name, left, right) if name else ast.Compare(left, [op], [right]))
            left = right
        joined = pairs[-1]
        for pair in reversed(pairs[:-1]):
            joined = _call("and_", _thunk(pair), _thunk(joined))
        return self._new(joined, node)

    def visit_IfExp(self, node):
        node = self.generic_visit(node)
        if _cannot_move(node):
            return node
        return self._new(_call("if_exp", node.test, _thunk(node.body), _thunk(node.orelse)), node)

    def visit_Assert(self, node):
        node = self.generic_visit(node)
        if not self._uses(Feature.ASSERT_STATEMENTS) or _cannot_move(node):
            return node
        message = node.msg or ast.Constant("Assertion error")
        return self._new(ast.Expr(_call("assert_stmt", node.test, _thunk(message))), node)

    # ---- lists ----

    def visit_List(self, node):
        node = self.generic_visit(node)
        if not self._uses(Feature.LISTS) or not isinstance(node.ctx, ast.Load):
            return node
        return self._new(_call("new_list", node), node)

    def visit_Subscript(self, node):
        node = self.generic_visit(node)
        if not self._uses(Feature.LISTS) or not isinstance(node.ctx, ast.Load) or _is_slice(node.slice):
            return node
        types = self._element_type(node.value)[:1]
        return self._new(_call("get_item", node.value, node.slice, *types), node)

    def visit_Assign(self, node):
        target = node.targets[0]
        is_item = (
            len(node.targets) == 1
            and isinstance(target, ast.Subscript)
            and isinstance(target.value, ast.Name)
        )
        if not self._uses(Feature.LISTS) or not is_item or _is_slice(target.slice):
            return self.generic_visit(node)
        new = _call("set_item", _read(target.value), self.visit(target.slice), self.visit(node.value))
        return self._new(ast.Assign([ast.Name(target.value.id, ast.Store())], new), node)

    def visit_Expr(self, node):
        """`list.append(item)` as a statement gives the list its new value."""
        call = node.value
        if not self._uses(Feature.LISTS) or not isinstance(call, ast.Call):
            return self.generic_visit(node)
        if _is_element_type(call):
            return ast.copy_location(ast.Pass(), node)
        of = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr == "append" else None
        if not isinstance(of, ast.Name) or call.keywords or len(call.args) != 1:
            return self.generic_visit(node)
        new = _call("list_append", _read(of), self.visit(call.args[0]))
        return self._new(ast.Assign([ast.Name(of.id, ast.Store())], new), node)

    def _pop(self, node):
        """The name of the item, which is taken from the list before the statement."""
        of, item = node.func.value, self._names.new("item_")
        call = _call(
            "list_pop", _read(of), node.args[0] if node.args else ast.Constant(None), *self._element_type(of)
        )
        targets = ast.Tuple([ast.Name(of.id, ast.Store()), ast.Name(item, ast.Store())], ast.Store())
        self._before.append(self._new(ast.Assign([targets], call), node))
        return ast.copy_location(ast.Name(item, ast.Load()), node)

    def _element_type(self, node):
        """What set_element_type(NAME, dtype, shape) says of a list."""
        return self.types.get(node.id, []) if isinstance(node, ast.Name) else []


def _element_types(function):
    """NAME: [dtype, shape], as expressions, of the calls set_element_type(NAME, dtype, shape) of a
    function."""
    types = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and _is_element_type(node):
            named = {each.arg: each.value for each in node.keywords}
            given = [*node.args[1:], *[named[name] for name in ("dtype", "shape") if name in named]]
            types[node.args[0].id] = given
    return types


def _is_element_type(call):
    is_name = bool(call.args) and isinstance(call.args[0], ast.Name)
    return is_name and _dotted(call.func).split(".")[-1] == "set_element_type"


def _read(name):
    return ast.Name(name.id, ast.Load())


def _dotted(node):
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def _is_slice(node):
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return any(
        isinstance(each, (ast.Slice, ast.Starred)) or each.__class__.__name__ == "ExtSlice" for each in parts
    )
