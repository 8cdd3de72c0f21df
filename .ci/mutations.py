"""Makes mutants of a Python module: copies with one small fault each, as people make them."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

COMPARISONS: dict[type, tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: dict[type, type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift,
}
OTHERS = {"min": "max", "max": "min", "any": "all", "all": "any"}
OTHER_METHODS = {
    "max": "min",
    "min": "max",
    "greatest": "least",
    "least": "greatest",
    "isNull": "isNotNull",
    "isNotNull": "isNull",
    "eqNullSafe": "__eq__",
}
"""Functions and methods of Spark, and what takes their place."""
LEFT_OUT = ("where", "desc", "sortWithinPartitions", "repartition", "orderBy")
"""Methods of Spark whose call a mutant leaves out: rows stay as they are."""
SYMMETRIC = ("latest", "Combined", "isinstance", "greatest", "least", "drop")
"""Functions of two arguments that have no order, or cannot be called otherwise."""
CONTEXT = 25
"""Characters that are shown before and after a change in a long text."""
DROPPED = ("key", "default")
"""Arguments that a mutant leaves out; of `replace` it leaves out any."""


@dataclass
class Mutant:
    """One fault. `place` is the list or node that holds the changed node, under `field`; `line` is that of the
    statement that changes, `function` is empty for a fault outside of functions."""

    path: Path
    function: str
    change: str
    line: int
    tree: ast.Module
    place: Any
    field: Any
    new: ast.AST
    outside: bool

    def compiled(self) -> Any:
        """The code of the mutated module; the tree, which all mutants of a module share, is left as it was."""
        old = _held(self.place, self.field)
        _put(self.place, self.field, self.new)
        code = compile(ast.fix_missing_locations(self.tree), str(self.path), "exec", dont_inherit=True)
        _put(self.place, self.field, old)
        return code


def mutants(path: Path) -> list[Mutant]:
    """All mutants of a module, in the order of its lines. Equal changes in one function are numbered."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found, met = [], Counter[tuple[str, str]]()
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inner = {each.lineno for node in functions for each in ast.walk(node) if isinstance(each, ast.stmt)}
    inner -= {node.lineno for node in functions}
    for function, line, shown, node, place, field in _places(tree, "", 0, tree):
        for new in _changed(node):
            ast.copy_location(new, node)
            change = _difference(_text(shown), _with(shown, place, field, new))
            met[function, change] += 1
            number = met[function, change]
            change += f" ({number})" if number > 1 else ""
            found.append(Mutant(path, function, change, line, tree, place, field, new, line not in inner))
    return found


def marked(path: Path) -> ast.Module:
    """The module with a call before each statement of its functions: `__reached__(path, line)`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for node in [each for function in functions for each in ast.walk(function)]:
        for name in ("body", "orelse", "finalbody"):
            held = getattr(node, name, None)
            if isinstance(held, list) and not any(_is_mark(each) for each in held):
                marks = [ast.parse(f"__reached__(({str(path)!r}, {each.lineno}))").body[0] for each in held]
                setattr(node, name, [each for pair in zip(marks, held, strict=True) for each in pair])
    return tree


def _is_mark(node: ast.AST) -> bool:
    return "__reached__" in ast.unparse(node).split("(")[0]


def _places(
    node: ast.AST, function: str, line: int, shown: ast.AST
) -> Iterator[tuple[str, int, ast.AST, ast.AST, Any, Any]]:
    """Each node below that may change: its function, the line of its statement, the node that is shown for it, and
    where it is held."""
    line = node.lineno if isinstance(node, ast.stmt) else line
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        function = f"{function}.{node.name}".lstrip(".")
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "conversion", "format_spec"):
            continue
        held = [(value, number, each) for number, each in enumerate(value)] if isinstance(value, list) else []
        for place, field, child in held or [(node, name, value)]:
            if not isinstance(child, ast.AST) or _fixed(child):
                continue
            mine = shown if isinstance(child, ast.Constant) and isinstance(node, ast.expr) else child
            if hasattr(child, "lineno"):
                yield function, child.lineno if isinstance(child, ast.stmt) else line, mine, child, place, field
            inner = child if isinstance(child, ast.stmt | ast.expr) else shown
            yield from _places(child, function, line, inner)


def _fixed(node: ast.AST) -> bool:
    """True if no mutant changes the node: imports for types alone, safety belts, enumerations, docstrings, and tables
    of numbers."""
    match node:
        case ast.Tuple(elts=elements) if len(elements) >= 5:
            return all(isinstance(each, ast.Constant) for each in elements)
        case ast.ClassDef(bases=[ast.Name(base)]):
            return base.endswith("Enum")
        case ast.If(test=ast.Name("TYPE_CHECKING")) | ast.keyword(arg="strict"):
            return True
        case ast.Expr(value=ast.Constant()):
            return True
    return False


def _changed(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare() | ast.BinOp() | ast.BoolOp() | ast.UnaryOp():
            yield from _operations(node)
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.IfExp():
            yield from (_copy(node.body), _copy(node.orelse))
        case ast.Call():
            yield from _calls(node)
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            yield from _unfiltered(node)
        case ast.expr():
            return
        case _:
            yield from _statements(node)


def _operations(node: ast.expr) -> Iterator[ast.AST]:
    """Other comparisons, operators and operands."""
    match node:
        case ast.Compare():
            for place, op in enumerate(node.ops):
                for other in COMPARISONS[type(op)]:
                    yield ast.Compare(
                        node.left, [*node.ops[:place], other(), *node.ops[place + 1 :]], node.comparators
                    )
        case ast.BinOp(op=op) if type(op) in ARITHMETIC:
            yield ast.BinOp(node.left, ARITHMETIC[type(op)](), node.right)
        case ast.BoolOp(values=values):
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), values)
            yield from (_joined(node.op, [v for v in values if v is not left]) for left in values)
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield _copy(operand)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case ast.If():
            yield from (ast.If(ast.Constant(value), node.body, node.orelse) for value in (True, False))
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()
        case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break():
            yield ast.Pass()


def _calls(node: ast.Call) -> Iterator[ast.AST]:
    """Calls of the opposite function, with two arguments exchanged, or with one argument left out."""
    match node:
        case ast.Call(func=ast.Name(name)) if name in OTHERS:
            yield ast.Call(ast.Name(OTHERS[name], ast.Load()), node.args, node.keywords)
        case ast.Call(func=ast.Attribute(value, name)) if name in OTHER_METHODS:
            yield ast.Call(ast.Attribute(value, OTHER_METHODS[name], ast.Load()), node.args, node.keywords)
        case ast.Call(func=ast.Attribute(value, name)) if name in LEFT_OUT:
            yield _copy(value)
    match node:
        case ast.Call(func=ast.Name(name) | ast.Attribute(attr=name)) if name in (*SYMMETRIC, *OTHERS):
            pass
        case ast.Call(args=[one, two]) if not any(isinstance(each, ast.Starred) for each in node.args):
            yield ast.Call(node.func, [two, one], node.keywords)
    whole = isinstance(node.func, ast.Name) and node.func.id == "replace"
    for left in node.keywords:
        if left.arg in DROPPED or (whole and left.arg):
            yield ast.Call(node.func, node.args, [each for each in node.keywords if each is not left])


def _unfiltered(node: Any) -> Iterator[ast.AST]:
    for place, part in enumerate(node.generators):
        if part.ifs:
            free = ast.comprehension(part.target, part.iter, [], part.is_async)
            other = _copy(node)
            other.generators = [*node.generators[:place], free, *node.generators[place + 1 :]]
            yield other


def _joined(op: ast.boolop, values: list[ast.expr]) -> ast.AST:
    return ast.BoolOp(op, values) if len(values) > 1 else _copy(values[0])


def _copy(node: Any) -> Any:
    """A node of its own with the parts of another one."""
    return type(node)(**{name: getattr(node, name) for name in node._fields})


def _with(shown: ast.AST, place: Any, field: Any, new: ast.AST) -> str:
    """Text of the shown node with the change in place."""
    old = _held(place, field)
    if old is shown:
        return _text(new)
    _put(place, field, new)
    text = _text(shown)
    _put(place, field, old)
    return text


def _difference(before: str, after: str) -> str:
    """Both texts, without most of what is common in long ones."""
    start = max(0, _common(before, after) - CONTEXT)
    end = max(0, _common(before[start:][::-1], after[start:][::-1]) - CONTEXT)
    cut = [text[start : len(text) - end] for text in (before, after)]
    return " -> ".join(each if len(each) <= 3 * CONTEXT else f"{each[: 3 * CONTEXT]}..." for each in cut)


def _common(one: str, other: str) -> int:
    """The number of characters with which both texts begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _held(place: Any, field: Any) -> Any:
    return place[field] if isinstance(place, list) else getattr(place, field)


def _put(place: Any, field: Any, node: ast.AST) -> None:
    if isinstance(place, list):
        place[field] = node
    else:
        setattr(place, field, node)


def _text(node: ast.AST) -> str:
    """The node on one line; of a statement with a body its head."""
    return ast.unparse(node).split("\n")[0]
