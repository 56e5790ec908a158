"""A recursive-descent parser for conditions: `||`, `&&`, comparisons, `!`, then members and calls."""

from collections.abc import Callable, Sequence

from remit.conditions.lexer import Token, TokenKind, error, tokens, unquote
from remit.conditions.path_patterns import path_pattern
from remit.conditions.syntax import (
    And,
    CelType,
    Compare,
    Has,
    ListLiteral,
    Literal,
    MatchPath,
    Method,
    Node,
    Not,
    Operator,
    Or,
    Size,
    State,
    TextTest,
    Variable,
    walk,
)
from remit.errors import ConditionError
from remit.text.spelling import did_you_mean

MAX_DEPTH = 24
MAX_NODES = 512
MAX_ITEMS = 64

FUNCTIONS = ("has", "size", "state", "matchPath")
_RESERVED = frozenset(
    {
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "namespace",
    }
    | {"package", "return", "var", "void", "while"}
)
_CONSTANTS = {"true": (True, CelType.BOOL), "false": (False, CelType.BOOL), "null": (None, CelType.NULL)}
_KEYWORDS = frozenset({*_CONSTANTS, "in"})
_WORDS = {"and": "write `&&`", "or": "write `||`"}
_OPERATORS = frozenset(Operator)
_INT64 = range(-(2**63), 2**63)


def parse(text: str) -> Node:
    """Parse a condition.

    Raises:
        ConditionError: the text is invalid or too large.
    """
    parser = _Parser(text)
    root = parser.whole()
    for number, (node, depth) in enumerate(walk(root), start=1):
        if number > MAX_NODES:
            raise error(text, node.at, f"the condition has more than {MAX_NODES} parts", "split it")
        if depth > MAX_DEPTH:
            raise error(text, node.at, f"the condition is nested more than {MAX_DEPTH} deep", "split it")
    return root


class _Parser:
    """Parses from left to right; each method parses one level of precedence."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [*tokens(text)]
        self._at = 0
        self._next = self._tokens[0]
        self._depth = 0

    def whole(self) -> Node:
        node = self._either()
        if self._next.sort is not TokenKind.END:
            raise self._unexpected("`&&`, `||` or the end")
        return node

    def _either(self) -> Node:
        return self._joined("||", self._both, Or)

    def _both(self) -> Node:
        return self._joined("&&", self._relation, And)

    def _joined(self, sign: str, part: Callable[[], Node], joint: type[And] | type[Or]) -> Node:
        at = self._next.at
        parts = [part()]
        while self._takes(sign):
            parts.append(part())
        return parts[0] if len(parts) == 1 else joint(tuple(parts), at)

    def _relation(self) -> Node:
        node = self._negated()
        while self._next.text in _OPERATORS:
            sign = self._take()
            node = Compare(Operator(sign.text), node, self._negated(), sign.at)
        return node

    def _negated(self) -> Node:
        at, count = self._next.at, 0
        while self._takes("!"):
            count += 1
        node = self._member()
        return Not(node, at) if count % 2 else node  # as in CEL, two `!` cancel out

    def _member(self) -> Node:
        node = self._primary()
        while True:
            if self._takes("."):
                node = self._selected(node)
            elif self._next.text == "[":
                node = self._indexed(node)
            else:
                return node

    def _selected(self, node: Node) -> Node:
        name = self._take()
        if name.sort is not TokenKind.NAME or name.text in _KEYWORDS:
            raise self._unexpected("the name of a member", name)
        if self._next.text != "(":
            return self._of(node, name.text, name)
        if name.text not in [*Method]:
            raise self._unknown(name, [*Method], "method")
        (argument,) = self._arguments(name, 1)
        return TextTest(Method(name.text), node, argument, name.at)

    def _indexed(self, node: Node) -> Node:
        self._take()
        key = self._next
        member = self._of(node, self._string("the name of a member, as text"), key)
        self._expect("]")
        return member

    def _of(self, node: Node, member: str, token: Token) -> Variable:
        if not isinstance(node, Variable):
            raise error(self._text, token.at, "only variables have members")
        if len(node.path) == MAX_DEPTH:
            raise self._too_deep(token)
        return Variable((*node.path, member), node.at)

    def _primary(self) -> Node:
        token = self._take()
        if token.sort is TokenKind.STRING:
            return Literal(unquote(token, self._text), CelType.STRING, token.at)
        if token.sort in (TokenKind.INT, TokenKind.DOUBLE):
            return self._number(token, token.at, "")
        if token.text == "-":
            return self._negative(token)
        if token.text == "(":
            return self._grouped()
        if token.text == "[":
            return ListLiteral(tuple(self._items("]", token)), token.at)
        if token.sort is TokenKind.NAME and token.text != "in":
            return self._named(token)
        raise self._unexpected("a value", token)

    def _grouped(self) -> Node:
        self._deeper()
        node = self._either()
        self._depth -= 1
        self._expect(")")
        return node

    def _negative(self, sign: Token) -> Literal:
        if self._next.sort not in (TokenKind.INT, TokenKind.DOUBLE):
            raise self._unexpected("a number after `-`")
        return self._number(self._take(), sign.at, "-")

    def _number(self, token: Token, at: int, sign: str) -> Literal:
        if token.sort is TokenKind.DOUBLE:
            return Literal(float(sign + token.text), CelType.DOUBLE, at)
        digits = token.text.removeprefix("0x")
        value = int(sign + digits, 10 if digits == token.text else 16)
        if value not in _INT64:
            raise error(self._text, at, "the number does not fit into 64 bits", "write it with `.0`")
        return Literal(value, CelType.INT, at)

    def _named(self, token: Token) -> Node:
        if token.text in _CONSTANTS:
            return Literal(*_CONSTANTS[token.text], token.at)
        if self._next.text == "(":
            return self._call(token)
        if token.text in _RESERVED:
            raise error(self._text, token.at, f"`{token.text}` is a reserved word, not a variable")
        return Variable((token.text,), token.at)

    def _call(self, name: Token) -> Node:
        match name.text:
            case "state":
                return State(self._only_string(name), name.at)
            case "size":
                (operand,) = self._arguments(name, 1)
                return Size(operand, name.at)
            case "has":
                return self._has(name)
            case "matchPath":
                return self._match_path(name)
            case _:
                raise self._unknown(name, FUNCTIONS, "function")

    def _only_string(self, name: Token) -> str:
        (argument,) = self._arguments(name, 1)
        return self._written(argument, f"`{name.text}` takes a literal text: `{name.text}('x')`")

    def _has(self, name: Token) -> Has:
        (argument,) = self._arguments(name, 1)
        is_member = self._tokens[self._at - 2].sort is TokenKind.NAME  # not `a['b']`
        if not isinstance(argument, Variable) or len(argument.path) < 2 or not is_member:
            raise error(self._text, name.at, "`has` takes a member of a variable: `has(a.b)`")
        return Has(argument, name.at)

    def _match_path(self, name: Token) -> MatchPath:
        operand, pattern = self._arguments(name, 2)
        text = self._written(
            pattern, "the pattern of `matchPath` must be a literal: `matchPath(a.b, '/c/**')`"
        )
        try:
            return MatchPath(operand, path_pattern(text), name.at)
        except ConditionError as mistake:
            raise error(self._text, pattern.at, str(mistake), mistake.hint) from None

    def _written(self, node: Node, message: str) -> str:
        if isinstance(node, Literal) and isinstance(node.value, str):
            return node.value
        raise error(self._text, node.at, message)

    def _arguments(self, name: Token, count: int) -> list[Node]:
        opening = self._expect("(")
        arguments = self._items(")", opening)
        if len(arguments) != count:
            values = "one value" if count == 1 else f"{count} values"
            raise error(self._text, name.at, f"`{name.text}` takes {values}, not {len(arguments)}")
        return arguments

    def _items(self, closing: str, opening: Token) -> list[Node]:
        self._deeper()
        items: list[Node] = []
        while self._next.text != closing:
            items.append(self._either())
            if len(items) > MAX_ITEMS:
                raise error(self._text, opening.at, f"the list has more than {MAX_ITEMS} items")
            if not self._takes(","):
                break
            if closing == ")" == self._next.text:  # as in CEL, only a list may have a trailing comma
                raise self._unexpected("a value")
        self._depth -= 1
        self._expect(closing)
        return items

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._too_deep(self._next)

    def _too_deep(self, token: Token) -> ConditionError:
        return error(self._text, token.at, f"the condition is nested more than {MAX_DEPTH} deep", "split it")

    def _take(self) -> Token:
        token = self._next
        if token.sort is not TokenKind.END:
            self._at += 1
            self._next = self._tokens[self._at]
        return token

    def _takes(self, sign: str) -> bool:
        if self._next.text != sign:
            return False
        self._take()
        return True

    def _string(self, wanted: str) -> str:
        if self._next.sort is not TokenKind.STRING:
            raise self._unexpected(wanted)
        return unquote(self._take(), self._text)

    def _expect(self, sign: str) -> Token:
        if self._next.text != sign:
            raise self._unexpected(f"`{sign}`")
        return self._take()

    def _unexpected(self, wanted: str, token: Token | None = None) -> ConditionError:
        token = token or self._next
        found = "the end" if token.sort is TokenKind.END else f"`{token.text}`"
        return error(self._text, token.at, f"expected {wanted}, found {found}", _WORDS.get(token.text))

    def _unknown(self, name: Token, known: Sequence[str], what: str) -> ConditionError:
        hint = did_you_mean(name.text, known) or f"expected one of {', '.join(f'`{each}`' for each in known)}"
        return error(self._text, name.at, f"unknown {what} `{name.text}`", hint)
