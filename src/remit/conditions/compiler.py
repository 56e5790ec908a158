"""Compiles a condition into one Python function, for conditions that are asked often.

The function is built of `ast` nodes: what a user wrote gets into it only as constants. Members are looked up
in dictionaries and nowhere else. As long as nothing fails, Python's `and`, `or` and `not` agree with CEL; so
the function raises where CEL has no value, or might have another than Python, and whoever calls it asks the
interpreter then.
"""

import ast
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import cast

from remit.conditions.cel_values import FailedError, equal, has, match_any, match_path, order, size, within
from remit.conditions.syntax import (
    And,
    Compare,
    Has,
    Listing,
    Literal,
    MatchAny,
    MatchPath,
    Method,
    Node,
    Not,
    Operator,
    Or,
    Size,
    State,
    TextTest,
    Type,
    Variable,
)
from remit.decision.snapshot import JsonValue

Run = Callable[[dict[str, bool], dict[str, JsonValue]], bool]

_STATES, _VALUES, _HELD = "states", "values", "held"
_LARGEST = 2**53  # whole numbers up to here are doubles, too, so that Python compares them as CEL does
_ORDERS: dict[Operator, ast.cmpop] = {
    Operator.LESS: ast.Lt(),
    Operator.AT_MOST: ast.LtE(),
    Operator.GREATER: ast.Gt(),
    Operator.AT_LEAST: ast.GtE(),
}
_TURNED = {
    Operator.LESS: Operator.GREATER,
    Operator.AT_MOST: Operator.AT_LEAST,
    Operator.GREATER: Operator.LESS,
    Operator.AT_LEAST: Operator.AT_MOST,
}
_TRUTHS = (And, Or, Not, Compare, State, Has, TextTest, MatchPath, MatchAny)


def _fail() -> bool:
    raise FailedError("neither true nor false")


_HELPERS: dict[str, object] = {
    "__builtins__": {},
    **{each.__name__: each for each in (_fail, equal, has, match_any, match_path, order, size, within)},
    **{f"order_{operator.name}": operator for operator in Operator},
}


def compiled(root: Node) -> Run:
    """Make the function that tells whether a condition holds; it raises where that is for others to say."""
    builder = _Builder()
    body = builder.truth(root)
    arguments = [ast.arg(name) for name in (_STATES, _VALUES, *builder.constants)]
    defaults: list[ast.expr] = [ast.Constant(None) for _ in builder.constants]
    signature = ast.arguments(
        posonlyargs=[], args=arguments, kwonlyargs=[], kw_defaults=[], defaults=defaults
    )
    tree = ast.Expression(ast.Lambda(signature, body))
    module = compile(_located(tree), "<condition>", "eval")
    code = next(each for each in module.co_consts if isinstance(each, CodeType))
    return cast(Run, FunctionType(code, _HELPERS, argdefs=(*builder.constants.values(),)))


def _located(tree: ast.Expression) -> ast.Expression:
    """Give each node the place that Python wants it to have."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        node.__dict__.update(lineno=1, col_offset=0, end_lineno=1, end_col_offset=0)
        for name in node._fields:
            child = getattr(node, name, None)
            if isinstance(child, list):
                waiting.extend(cast("list[ast.AST]", child))
            elif isinstance(child, ast.AST):
                waiting.append(child)
    return tree


class _Builder:
    """Builds the function, and collects the constants that Python cannot write down."""

    def __init__(self) -> None:
        self.constants: dict[str, object] = {}

    def truth(self, node: Node) -> ast.expr:
        value = self.value(node)
        if isinstance(node, _TRUTHS):
            return value
        # What is neither true nor false fails, as it does in CEL.
        is_true = _is(ast.NamedExpr(ast.Name(_HELD, ast.Store()), value), True)
        fails = ast.BoolOp(ast.And(), [_is(_name(_HELD), False, ast.IsNot()), _call("_fail")])
        return ast.BoolOp(ast.Or(), [is_true, fails])

    def value(self, node: Node) -> ast.expr:
        match node:
            case And(parts):
                return ast.BoolOp(ast.And(), [*map(self.truth, parts)])
            case Or(parts):
                return ast.BoolOp(ast.Or(), [*map(self.truth, parts)])
            case Not(operand):
                return ast.UnaryOp(ast.Not(), self.truth(operand))
            case Compare():
                return self._compare(node)
            case State(name):
                return _item(_name(_STATES), name)
            case Variable(path):
                return _member(path)
            case _:
                return self._other(node)

    def _other(self, node: Literal | Has | TextTest | MatchPath | MatchAny | Size | Listing) -> ast.expr:
        match node:
            case Literal(value):
                return ast.Constant(cast("str | int | float | bool | None", value))
            case Has(variable):
                return _call("has", _member(variable.path[:-1]), ast.Constant(variable.path[-1]))
            case TextTest(method, operand, argument):
                return self._text_test(method, self.value(operand), self.value(argument))
            case MatchPath(operand, pattern):
                return _call("match_path", self._constant(pattern), self.value(operand))
            case MatchAny(operand, pattern):
                return _call("match_any", self._constant(pattern), self.value(operand))
            case Size(operand):
                return _call("size", self.value(operand))
            case _:
                return ast.List([*map(self.value, node.items)], ast.Load())

    def _text_test(self, method: Method, text: ast.expr, other: ast.expr) -> ast.expr:
        # Of all values only texts have these methods; `find` because a list could contain something, too.
        name = {Method.STARTS_WITH: "startswith", Method.ENDS_WITH: "endswith", Method.CONTAINS: "find"}[
            method
        ]
        called = ast.Call(ast.Attribute(text, name, ast.Load()), [other], [])
        return called if method is not Method.CONTAINS else _compare(called, ast.GtE(), ast.Constant(0))

    def _compare(self, node: Compare) -> ast.expr:
        operator, left, right = node.operator, node.left, node.right
        if operator is Operator.IN:
            return self._within(left, right)
        if isinstance(left, Literal) and not isinstance(right, Literal):
            left, right, operator = right, left, _TURNED.get(operator, operator)
        if operator in (Operator.EQUAL, Operator.DIFFERENT):
            return self._equal(operator, left, right)
        return self._order(operator, left, right)

    def _equal(self, operator: Operator, left: Node, right: Node) -> ast.expr:
        is_equal = operator is Operator.EQUAL
        if _is_word(right) and not isinstance(left, Literal):
            return _compare(self.value(left), ast.Is() if is_equal else ast.IsNot(), self.value(right))
        if _is_plain(right):
            return _compare(self.value(left), ast.Eq() if is_equal else ast.NotEq(), self.value(right))
        called = _call("equal", self.value(left), self.value(right))
        return called if is_equal else ast.UnaryOp(ast.Not(), called)

    def _order(self, operator: Operator, left: Node, right: Node) -> ast.expr:
        if isinstance(right, Literal) and right.type is Type.STRING:
            return _compare(self.value(left), _ORDERS[operator], self.value(right))
        if isinstance(left, Variable) and _is_small(right):
            # To Python a truth value is a number, and would have an order.
            held = ast.NamedExpr(ast.Name(_HELD, ast.Store()), self.value(left))
            tests: list[ast.expr] = [_is(held, True, ast.IsNot()), _is(_name(_HELD), False, ast.IsNot())]
            ordered = _compare(_name(_HELD), _ORDERS[operator], self.value(right))
            return ast.IfExp(ast.BoolOp(ast.And(), tests), ordered, _call("_fail"))
        return _call("order", _name(f"order_{operator.name}"), self.value(left), self.value(right))

    def _within(self, left: Node, right: Node) -> ast.expr:
        if isinstance(right, Listing) and right.items and all(map(_is_plain, right.items)):
            items: list[ast.expr] = [*map(self.value, right.items)]
            return _compare(self.value(left), ast.In(), ast.Tuple(items, ast.Load()))
        return _call("within", self.value(left), self.value(right))

    def _constant(self, value: object) -> ast.expr:
        name = f"constant_{len(self.constants)}"
        self.constants[name] = value
        return _name(name)


def _is_plain(node: Node) -> bool:
    """Tell whether to Python the same values are equal to a literal as to CEL: not so `1` and `True`."""
    if not isinstance(node, Literal):
        return False
    return node.type is Type.STRING or (_is_small(node) and node.value not in (0, 1))


def _is_word(node: Node) -> bool:
    return isinstance(node, Literal) and node.type in (Type.BOOL, Type.NULL)


def _is_small(node: Node) -> bool:
    return (
        isinstance(node, Literal)
        and type(node.value) in (int, float)
        and abs(cast(float, node.value)) < _LARGEST
    )


def _member(path: tuple[str, ...]) -> ast.expr:
    node: ast.expr = _name(_VALUES)
    for name in path:
        node = _item(node, name)
    return node


def _item(node: ast.expr, name: str) -> ast.expr:
    return ast.Subscript(node, ast.Constant(name), ast.Load())


def _name(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _call(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(_name(name), [*arguments], [])


def _compare(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> ast.expr:
    return ast.Compare(left, [operator], [right])


def _is(left: ast.expr, value: bool, operator: ast.cmpop | None = None) -> ast.expr:
    return _compare(left, operator or ast.Is(), ast.Constant(value))
