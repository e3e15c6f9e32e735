"""Makes `if`, `while` and `for` calls of AutoGraph's operators.

The blocks of a statement become functions that share the variables of the function they are in (nonlocal), so
that in Python they do what they did. For a conditional or a loop of tensors the operator reads and sets the
variables that it carries through `get_state` and `set_state`:

    if x < 0:                 def if_body():
        y = a                     nonlocal y
    else:                         y = a
        y = b           ->    def else_body():
                                  nonlocal y
                                  y = b
                              def get_state():
                                  return (ag__.ld(lambda: y, 'y'),)
                              def set_state(state):
                                  nonlocal y
                                  (y,) = state
                              ag__.if_stmt(x < 0, if_body, else_body, get_state, set_state, ('y',), 0)
"""

import ast

from braid.tensorflow.python.autograph.pyct import liveness
from braid.tensorflow.python.autograph.pyct import fragments


def convert(function, names, declared, arguments):
    """Rewrites the body of a FunctionDef in place. `declared`: name -> "global" or "nonlocal", of the
    names that the function declares."""
    generation = _Generation(function.body, names, declared)
    if any(_reads_frame(each) for each in ast.walk(function)):
        generation.visible = liveness.written(function.body) | set(arguments)
        generation.shared |= generation.visible.difference(arguments)
    body = generation.block(function.body)
    if generation.shared:
        # a name that only inner functions bind has to be one of the function
        own = " = ".join(sorted(generation.shared - declared.keys()))
        if own:
            body = fragments.statements(f"if 0: {own} = None", at=body[0]) + body
    function.body = body


class _Generation:
    def __init__(self, body, names, declared):
        self._names = names
        self._declared = declared
        self._live = liveness.Liveness(body, declared)
        self.visible = set()  # what each block shares, because it may read it by its name
        self.shared = set()

    def block(self, statements):
        return [new for statement in statements for new in self._statement(statement)]

    def _statement(self, statement):
        if isinstance(statement, ast.If):
            return self._if(statement)
        if isinstance(statement, ast.While):
            return self._while(statement)
        if isinstance(statement, ast.For):
            return self._for(statement)
        if liveness.blocks(statement):
            for field in ("body", "orelse", "finalbody"):
                if getattr(statement, field, None):
                    setattr(statement, field, self.block(getattr(statement, field)))
            for part in [*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]:
                part.body = self.block(part.body)
        return [statement]

    # ---- the state of a statement ----

    def _state(self, blocks, live):
        """Names that the blocks write and that are in `live`, and attributes and items of what they
        do not write."""
        changed = set()
        for block in blocks:
            changed |= liveness.written(block)
        self.shared |= changed
        basic = sorted(changed & live)
        composite = {}
        for block in blocks:
            _find_composites(block, changed, composite)
        return changed, basic, composite

    def _accessors(self, at, names, composite):
        get, set_, state = (self._names.new(name) for name in ("get_state", "set_state", "state_"))
        reads = "".join(f"ag__.ld(lambda: {name}, {name!r}), " for name in [*names, *composite])
        # An attribute that was not there stays away.
        sets = "".join(
            f"\n    if ag__.is_defined({state}[{len(names) + i}]): {text} = {state}[{len(names) + i}]"
            for i, text in enumerate(composite)
        )
        targets = f"({''.join(f'{name}, ' for name in names)}) = {state}[:{len(names)}]" if names else "pass"
        text = f"def {get}():\n    return ({reads})\ndef {set_}({state}):{self._shared(names)}\n    {targets}{sets}\n"
        return get, set_, fragments.statements(text, at=at)

    def _shared(self, names):
        """The declarations of variables in a function of a block."""
        by_kind = {}
        for each in sorted(names):
            by_kind.setdefault(self._declared.get(each, "nonlocal"), []).append(each)
        return "".join(f"\n    {kind} {', '.join(each)}" for kind, each in by_kind.items())

    def _function(self, name, body, changed, at, argument=""):
        shared = self._shared(changed | self.visible)
        function = fragments.statements(f"def {name}({argument}):{shared}\n    pass", at=at)[0]
        function.body = function.body[:-1] + (self.block(body) or function.body[-1:])
        return function

    # ---- statements ----

    def _if(self, statement):
        blocks = [statement.body, statement.orelse]
        after = self._live.after[statement]
        live = after | self._live_before(statement.body, after) | self._live_before(statement.orelse, after)
        changed, basic, composite = self._state(blocks, live)
        # Those that only a branch reads come first: each branch begins with their values, and they
        # are no results.
        basic.sort(key=lambda name: (name in after, name))
        restored = sum(name not in after for name in basic)
        get, set_, accessors = self._accessors(statement, basic, composite)
        body, orelse = self._names.new("if_body"), self._names.new("else_body")
        call = fragments.statements(
            f"ag__.if_stmt(0, {body}, {orelse}, {get}, {set_}, {(*basic, *composite)}, {restored})",
            at=statement,
        )[0]
        call.value.args[0] = statement.test
        return [
            *accessors,
            self._function(body, statement.body, changed, statement),
            self._function(orelse, statement.orelse, changed, statement),
            call,
        ]

    def _while(self, statement):
        test, options = self._test(statement)
        changed, basic, composite = self._state(
            [statement.body, [ast.Expr(test)]], self._live.before_body[statement]
        )
        get, set_, accessors = self._accessors(statement, basic, composite)
        function = self._function(self._names.new("loop_test"), [], changed & liveness.bound(test), statement)
        function.body[-1] = ast.copy_location(ast.Return(test), statement)
        body = self._names.new("loop_body")
        call = fragments.statements(
            f"ag__.while_stmt({function.name}, {body}, {get}, {set_}, {(*basic, *composite)}, None)",
            at=statement,
        )[0]
        call.value.args[-1] = options
        return [*accessors, function, self._function(body, statement.body, changed, statement), call]

    def _for(self, statement):
        extra, options = self._test(statement)
        item, body = self._names.new("item_"), self._names.new("loop_body")
        target = fragments.statements(f"_ = {item}", at=statement.target)[0]
        target.targets = [statement.target]
        statement.body.insert(0, target)
        changed, basic, composite = self._state([statement.body], self._live.before_body[statement])
        get, set_, accessors = self._accessors(statement, basic, composite)
        call = fragments.statements(
            f"ag__.for_stmt(0, lambda: 0, {body}, {get}, {set_}, {(*basic, *composite)}, None)", at=statement
        )[0]
        call.value.args[0] = statement.iter
        if extra is None:
            call.value.args[1] = ast.copy_location(ast.Constant(None), statement)
        else:
            call.value.args[1].body = extra
        call.value.args[-1] = options
        return [*accessors, self._function(body, statement.body, changed, statement, item), call]

    def _test(self, loop):
        """The loop's test (of `for` the one beside its items, or None), and the options of its directive."""
        test = getattr(loop, "extra_test", None)
        if isinstance(loop, ast.While):
            both = fragments.expression("ag__.and_(lambda: 0, lambda: 0)", at=loop)
            if test is not None:
                both.args[0].body, both.args[1].body = test, loop.test
            test = loop.test if test is None else both
        options = fragments.expression("None", at=loop)
        for i, statement in enumerate(loop.body):
            call = getattr(statement, "value", None)
            if isinstance(statement, ast.Expr) and isinstance(call, ast.Call) and _is_loop_options(call):
                options, call.func = call, fragments.expression("ag__.loop_options", at=call)
                loop.body[i] = ast.copy_location(ast.Pass(), statement)
        return test, options

    def _live_before(self, block, after):
        return self._live.block(block, set(after))


def _reads_frame(node):
    """Whether a node is a call that finds variables by their names."""
    name = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
    return name in ("locals", "vars", "dir", "eval", "exec")


def _is_loop_options(call):
    """A call of set_loop_options, which converters/expressions.py has made ag__.converted(NAME)(...)."""
    name = call.func.args[0] if isinstance(call.func, ast.Call) and call.func.args else None
    return getattr(name, "attr", getattr(name, "id", "")) == "set_loop_options"


def _find_composites(block, changed, found):
    """The attributes and items that a block assigns, as text, whose object and indices it does not make."""
    for statement in block:
        for node in liveness.header(statement):
            for each in ast.walk(node):
                stored = isinstance(each, (ast.Attribute, ast.Subscript)) and isinstance(each.ctx, ast.Store)
                names = _names_of(each) if stored else None
                if names and changed.isdisjoint(names):
                    found[ast.unparse(each)] = True
        for inner in liveness.blocks(statement):
            _find_composites(inner, changed, found)


def _names_of(node):
    """The names of a name with attributes and items whose indices are names or constants. Of other
    expressions, which may give another object each time: None."""
    if isinstance(node, ast.Name):
        return {node.id}
    if not isinstance(node, (ast.Attribute, ast.Subscript)):
        return None
    index = getattr(node, "slice", None)
    if isinstance(index, ast.UnaryOp):  # -1
        index = index.operand
    of_index = {index.id} if isinstance(index, ast.Name) else set()
    names = _names_of(node.value)
    is_simple = isinstance(index, (type(None), ast.Name, ast.Constant))
    return names | of_index if names and is_simple else None
