"""Makes `break`, `continue` and `return` within statements ordinary assignments, so that each block has one
end.

A jump sets a variable, and the statements behind it are under an `if` that reads the variable. Where one
branch of an `if` always jumps, the statements behind the `if` move to the other branch instead, and a jump at
the end of its block needs no variable:

    if x < 0:              if x < 0:
        return a               retval_ = a
    y = f(x)        ->     else:
    return y                   y = f(x)
                               retval_ = y
                           return ag__.retval(retval_)
"""

import ast

from braid.tensorflow.python.autograph.pyct import liveness
from braid.tensorflow.python.autograph.pyct import fragments

_LOOPS = (ast.While, ast.For, ast.AsyncFor)
_WITHS = (ast.With, ast.AsyncWith)
_GRAPH_SCOPES = ("device", "control_dependencies", "colocate_with", "gradient_override_map", "as_default")
_KINDS = {ast.Return: "return", ast.Break: "break", ast.Continue: "continue"}


def lower(function, names):
    """Rewrites a FunctionDef in place. `names.new(NAME)` gives an unused name of a variable."""
    within = [each for each in function.body if not isinstance(each, ast.Return)]
    if not any("return" in _jumps(each) for each in within):
        function.body = _Lowering(names, None, None).block(function.body, frozenset(["return"]))[0]
        return
    lowering = _Lowering(names, names.new("retval_"), names.new("do_return"))
    body, flags = lowering.block(function.body, frozenset(["return"]))
    start = fragments.statements(f"{lowering.value} = ag__.UndefinedReturnValue()")
    if lowering.flag in flags:
        start = fragments.statements(f"{lowering.flag} = False") + start
    function.body = start + body + fragments.statements(f"return ag__.retval({lowering.value})")


def _jumps(statement):
    """The kinds of jump by which a statement may be left, of its function or of a loop around it."""
    if type(statement) in _KINDS:
        return {_KINDS[type(statement)]}
    found = set()
    for block in liveness.blocks(statement):
        for each in block:
            found |= _jumps(each)
    if isinstance(statement, _LOOPS):
        found -= {"break", "continue"}
        for each in statement.orelse:
            found |= _jumps(each)
    return found


def _always_jumps(block):
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ast.If):
        return _always_jumps(last.body) and _always_jumps(last.orelse)
    if isinstance(last, _WITHS):
        return _always_jumps(last.body) and all(_is_graph_scope(each.context_expr) for each in last.items)
    return type(last) in _KINDS


def _is_graph_scope(node):
    """Whether a context manager is a scope of a graph by its name. Others, as contextlib.suppress, may end
    the exceptions of their block, and what is behind the block runs."""
    node = getattr(node, "func", node)
    name = getattr(node, "attr", getattr(node, "id", ""))
    return name.lower().endswith("scope") or name in _GRAPH_SCOPES


class _Lowering:
    def __init__(self, names, value, flag, loop=(None, None)):
        self._names = names
        self.value = value  # the variable of the value that is returned; None: every return stays
        self.flag = flag
        self._break, self._continue = loop  # the variables of the loop around

    def block(self, statements, ends):
        """The lowered statements, and the variables that they may set. `ends`: the kinds of jump that
        go where the end of the block goes."""
        out, flags = [], set()
        for i, statement in enumerate(statements):
            rest = statements[i + 1 :]
            if type(statement) in _KINDS:
                out += self._jump(statement, ends, flags)
                return out, flags  # what is behind it never runs
            if isinstance(statement, ast.If) and rest and _jumps(statement):
                if _always_jumps(statement.body):
                    statement.orelse, rest = statement.orelse + rest, []
                elif _always_jumps(statement.orelse):
                    statement.body, rest = statement.body + rest, []
            lowered, set_here = self._statement(statement, frozenset() if rest else ends)
            out += lowered
            flags |= set_here
            if set_here and rest:
                inner, set_there = self.block(rest, ends)
                test = " or ".join(sorted(set_here))
                guard = fragments.statements(f"if not ({test}): pass", at=rest[0])[0]
                guard.body = inner
                return [*out, guard], flags | set_there
            if not rest:
                break
        return out, flags

    def _jump(self, statement, ends, flags):
        kind = _KINDS[type(statement)]
        if kind == "return" and self.value is None:
            return [statement]
        out = []
        if kind == "return":
            value = statement.value or ast.copy_location(ast.Constant(None), statement)
            out = fragments.statements(f"{self.value} = None", at=statement)
            out[0].value = value
        if kind not in ends:
            name = {"return": self.flag, "break": self._break, "continue": self._continue}[kind]
            flags.add(name)
            # behind the value, whose exception may be caught
            out += fragments.statements(f"{name} = True", at=statement)
        return out or [ast.copy_location(ast.Pass(), statement)]

    def _statement(self, statement, ends):
        if isinstance(statement, _LOOPS):
            return self._loop(statement, ends)
        flags = set()
        is_try = hasattr(statement, "handlers")
        for field in ("body", "orelse", "finalbody"):
            if not liveness.blocks(statement) or not getattr(statement, field, None):
                continue
            inner = (
                frozenset()
                if is_try and (field == "finalbody" or statement.orelse or statement.finalbody)
                else ends
            )
            if field == "finalbody" and any(_jumps(each) for each in statement.finalbody):
                raise ValueError("a jump within `finally`, which ends an exception, is not converted")
            body, set_here = self.block(getattr(statement, field), inner)
            if field == "orelse" and is_try and flags:  # runs where the body of the `try` came to its end
                guard = fragments.statements(f"if not ({' or '.join(sorted(flags))}): pass", at=body[0])[0]
                guard.body, body = body, [guard]
            setattr(statement, field, body or [ast.copy_location(ast.Pass(), statement)])
            flags |= set_here
        for part in [*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]:
            part.body, set_here = self.block(
                part.body, frozenset() if is_try and statement.finalbody else ends
            )
            part.body = part.body or [ast.copy_location(ast.Pass(), statement)]
            flags |= set_here
        return [statement], flags

    def _loop(self, loop, ends):
        names = self._names.new("break_"), self._names.new("continue_")
        inner = _Lowering(self._names, self.value, self.flag, names)
        loop.body, flags = inner.block(loop.body, frozenset(["continue"]))
        start = []
        if names[1] in flags:
            loop.body = fragments.statements(f"{names[1]} = False", at=loop) + loop.body
        if names[0] in flags:
            start = fragments.statements(f"{names[0]} = False", at=loop)
        left = sorted(flags - {names[1]})
        # converters/control_flow.py makes it a part of the loop's test
        loop.extra_test = fragments.expression(f"not ({' or '.join(left)})", at=loop) if left else None
        outside = flags - set(names)
        orelse, loop.orelse = loop.orelse, []
        if orelse:
            orelse, set_here = self.block(orelse, ends)
            outside |= set_here
            if left:
                guard = fragments.statements(f"if not ({' or '.join(left)}): pass", at=loop)[0]
                guard.body, orelse = orelse, [guard]
        return [*start, loop, *orelse], outside
