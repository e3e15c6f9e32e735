"""Which names the statements of a function read and write, and which of them are live: read later, before
they are written again. Statements are structured (converters/jumps.py has made break, continue and return
flags), so one backward pass over each block computes liveness; a loop takes a few."""

import ast

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_TRIES = (ast.Try, getattr(ast, "TryStar", ast.Try))
_MATCH = getattr(ast, "Match", ())


def blocks(statement):
    """The statement's own lists of statements, without those of functions and classes."""
    if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
        return []
    found = [
        getattr(statement, field) for field in ("body", "orelse", "finalbody") if hasattr(statement, field)
    ]
    found += [handler.body for handler in getattr(statement, "handlers", ())]
    found += [case.body for case in getattr(statement, "cases", ())]
    return found


def header(statement):
    """The nodes of a statement that are not in its blocks."""
    for field, value in ast.iter_fields(statement):
        if field in ("body", "orelse", "finalbody") and isinstance(value, list):
            continue
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.ExceptHandler):
                if node.type:
                    yield node.type
            elif node.__class__.__name__ == "match_case":
                yield node.pattern
                if node.guard:
                    yield node.guard
            elif isinstance(node, ast.AST):
                yield node


def written(statements):
    """The names that statements bind or delete in the function that they are of."""
    names = set()
    for statement in statements:
        names |= _written_here(statement)
        for block in blocks(statement):
            names |= written(block)
    return names


def _written_here(statement):
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {(each.asname or each.name).split(".")[0] for each in statement.names}
    names = {each.name for each in getattr(statement, "handlers", ()) if each.name}
    for node in header(statement):
        names |= bound(node)
    return names


def bound(node):
    """The names that an expression, a target or a pattern binds."""
    if isinstance(node, _FUNCTIONS):
        return set()
    if isinstance(node, ast.Name):
        return set() if isinstance(node.ctx, ast.Load) else {node.id}
    if isinstance(node, _COMPREHENSIONS):  # its own variables are its own; `:=` binds in the function
        return {each.target.id for each in ast.walk(node) if isinstance(each, ast.NamedExpr)}
    # MatchAs and MatchStar have a name, MatchMapping a rest
    names = {
        each for each in (getattr(node, "name", None), getattr(node, "rest", None)) if isinstance(each, str)
    }
    for child in ast.iter_child_nodes(node):
        names |= bound(child)
    return names


def read(node):
    """The names that an expression reads, those of functions in it too."""
    return {
        each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
    }


class Liveness:
    """Names live before and after the statements of a function. `at_end`: those live where it ends, which
    are the global ones and those of functions around it."""

    def __init__(self, body, at_end=()):
        # A function of the function reads its variables when it is called: where its name is read.
        self._closures = {}
        for node in ast.walk(ast.Module(body, [])):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                self._closures.setdefault(node.name, set()).update(read(node))
        for node in ast.walk(ast.Module(body, [])):
            if isinstance(node, ast.Assign):
                functions = self._functions(node.value)
                for target in node.targets:
                    if functions and isinstance(target, ast.Name):
                        self._closures.setdefault(target.id, set()).update(functions)
        self.after = {}  # statement -> names
        self.before_body = {}  # loop -> names live where its test, or its next item, is evaluated
        self.block(body, set(at_end))

    def _functions(self, value):
        """What the functions read that a value is or has among its parts: lambdas and functions that
        have a name."""
        if isinstance(value, ast.Call) and ast.unparse(value.func) == "ag__.autograph_artifact":
            return read(value.args[0])
        if isinstance(value, ast.Lambda):
            return read(value)
        if isinstance(value, ast.Name):
            return {value.id} & self._closures.keys()
        if not isinstance(value, (ast.List, ast.Tuple, ast.Set, ast.Dict)):
            return set()
        return {name for part in ast.iter_child_nodes(value) for name in self._functions(part)}

    def _reads(self, node):
        names, todo = set(), list(read(node))
        while todo:
            name = todo.pop()
            if name not in names:
                names.add(name)
                todo.extend(self._closures.get(name, ()))
        return names

    def block(self, statements, after):
        for statement in reversed(statements):
            after = self._before(statement, after)
        return after

    def _before(self, statement, after):
        self.after[statement] = frozenset(after)
        if isinstance(statement, ast.If):
            live = self.block(statement.body, after) | self.block(statement.orelse, after)
            return live - bound(statement.test) | self._reads(statement.test)
        if isinstance(statement, (ast.While, ast.For, ast.AsyncFor)):
            extra = getattr(statement, "extra_test", None)  # of converters/jumps.py
            reads = self._reads(extra) if extra else set()
            if isinstance(statement, ast.While):
                return self._loop(statement, after, reads | self._reads(statement.test), set())
            reads |= self._reads(statement.target)  # the objects whose attributes or items it sets
            return self._loop(statement, after, reads, bound(statement.target)) | self._reads(statement.iter)
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            return self._through(statement, self.block(statement.body, after))
        if isinstance(statement, _TRIES):
            return self._try(statement, after)
        if isinstance(statement, _MATCH):
            live = set(after)
            for case in statement.cases:
                live |= self.block(case.body, after)
            for node in header(statement):
                live |= self._reads(node)
            return live
        return self._through(statement, after)

    def _through(self, statement, after):
        """Live before a simple statement, or before the header of a `with`."""
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = [*statement.decorator_list, *getattr(statement, "bases", ())]
            first += statement.args.defaults if hasattr(statement, "args") else statement.body
            return after - {statement.name} | {name for node in first for name in self._reads(node)}
        reads = set()
        for node in header(statement):
            reads |= self._reads(node)
        if isinstance(statement, ast.AugAssign):
            reads |= bound(statement.target)
        return after - _written_here(statement) | reads

    def _loop(self, loop, after, reads, killed):
        """`killed`: what an iteration binds first."""
        out = self.block(loop.orelse, after) | after
        head = out | reads
        while True:
            self.before_body[loop] = frozenset(head)
            grown = head | self.block(loop.body, head) - killed
            if grown == head:
                return head
            head = grown

    def _try(self, statement, after):
        end = self.block(statement.finalbody, after) | after
        handlers = set(end)
        for handler in statement.handlers:
            live = self.block(handler.body, end) - ({handler.name} if handler.name else set())
            handlers |= live | (self._reads(handler.type) if handler.type else set())
        # an exception may come after any statement of the body
        return self.block(statement.body, self.block(statement.orelse, end) | handlers) | handlers
