"""The syntax tree of a function, from the file that defines it. Lines and columns are those of the file, so
that what is compiled from the tree has the same traceback as the function."""

import ast
import functools
import linecache

from braid.tensorflow.python.autograph.pyct import fragments


def function_node(function):
    """The FunctionDef or Lambda of a Python function, and the names of the classes around it, outermost
    first.

    Raises ValueError where there is no source, or where several lambdas of one line cannot be told apart.
    """
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        raise ValueError(f"the source of {function.__qualname__} ({code.co_filename}) cannot be read")
    found = _definitions("".join(lines)).get((code.co_firstlineno, code.co_name), ())
    if len(found) > 1:
        found = [each for each in found if _is_of(each[0], code)]
    if len(found) > 1:
        found = [each for each in found if _compiled_alike(*each, code)]
        if len({ast.dump(each[0]) for each in found}) == 1:
            found = found[:1]
    if not found:
        raise ValueError(
            f"{code.co_filename}, line {code.co_firstlineno}: no definition of {code.co_name} is there"
        )
    if len(found) > 1:
        raise ValueError(
            f"Unable to identify source code of lambda function {function}: line {code.co_firstlineno} of "
            f"{code.co_filename} has several lambdas that are alike. Define each lambda in a line of its own"
        )
    return found[0]


@functools.lru_cache(maxsize=64)
def _definitions(text):
    """(line, name) of each function of a file: a list of (node, names of the classes around it)."""
    found = {}

    def visit(node, classes):
        for child in ast.iter_child_nodes(node):
            inner = classes
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                first = child.decorator_list[0] if child.decorator_list else child
                found.setdefault((first.lineno, child.name), []).append((child, classes))
            elif isinstance(child, ast.Lambda):
                found.setdefault((child.lineno, "<lambda>"), []).append((child, classes))
            elif isinstance(child, ast.ClassDef):
                inner = (*classes, child.name)
            visit(child, inner)

    visit(ast.parse(text), ())
    return found


def argument_names(arguments):
    """The names that an ast.arguments binds, in the order of a code object's co_varnames."""
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    named += [each for each in (arguments.vararg, arguments.kwarg) if each]
    return [each.arg for each in named]


def _is_of(node, code):
    names = tuple(argument_names(node.args))
    return names == code.co_varnames[: len(names)] and code.co_argcount == len(
        node.args.posonlyargs + node.args.args
    )


def _compiled_alike(node, classes, code):
    """Whether the node, which is in `classes`, compiles to the instructions, names and constants of `code`."""
    if hasattr(code, "co_positions"):
        first, last = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
        if not all(first <= (line, column) <= last for line, _, column, _ in code.co_positions() if column):
            return False
    if not isinstance(node, ast.Lambda):
        return True
    # In a function that has its free variables, and in a class that has its private names, the lambda is
    # compiled to the same instructions.
    factory = fragments.statements(f"def factory({', '.join(code.co_freevars)}): return 0")[0]
    factory.body[0].value = node
    around = fragments.statements(f"class {classes[-1] if classes else '_'}: pass")[0]
    around.body = [factory]
    compiled = compile(ast.Module([around], []), code.co_filename, "exec")
    for _ in range(3):
        (compiled,) = [each for each in compiled.co_consts if hasattr(each, "co_code")]
    values = [[each for each in c.co_consts if not hasattr(each, "co_code")] for c in (compiled, code)]
    return (compiled.co_code, compiled.co_names) == (code.co_code, code.co_names) and values[0] == values[1]
