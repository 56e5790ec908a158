"""The syntax of conditions, a strict subset of CEL: the tree, tokens, and a recursive-descent parser.

Every part keeps its text, so messages quote what was written. Nothing here compiles a pattern: hooks parse
conditions, and compiling would take longer than parsing.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from remit.decision.snapshot import JsonValue
from remit.decision.when.paths import PathPattern, path_pattern
from remit.errors import ConditionError

MAX_LENGTH = 4096
MAX_DEPTH = 24
NOWHERE = -1  # position of a part that was not written as text


class Literal(NamedTuple):
    """A literal value."""

    value: JsonValue
    text: str
    at: int = NOWHERE


class ListLiteral(NamedTuple):
    """A list."""

    items: "tuple[Node, ...]"
    text: str
    at: int


class Variable(NamedTuple):
    """A variable or a member of a variable."""

    path: tuple[str, ...]
    text: str
    at: int = NOWHERE


class State(NamedTuple):
    """Whether a state holds."""

    name: str
    text: str = ""
    at: int = NOWHERE


class Has(NamedTuple):
    """Whether a variable has a member."""

    variable: Variable  # the member
    text: str
    at: int


class Size(NamedTuple):
    """The size of a string, list or map."""

    operand: "Node"
    text: str
    at: int


class MatchPath(NamedTuple):
    """Whether a path matches a pattern."""

    operand: "Node"
    pattern: PathPattern
    text: str = ""
    at: int = NOWHERE


class MatchAny(NamedTuple):
    """Whether any name of a list matches a pattern; only location scopes use this."""

    operand: Variable
    pattern: PathPattern
    text: str = ""
    at: int = NOWHERE


class Compare(NamedTuple):
    """A comparison of two values by an operator or a method of strings."""

    operator: str
    left: "Node"
    right: "Node"
    text: str
    at: int  # of the operator


class Not(NamedTuple):
    """A negation."""

    operand: "Node"
    text: str = ""
    at: int = NOWHERE


class Junction(NamedTuple):
    """Parts joined by `&&` or `||`."""

    decisive: bool  # the value of a part that decides: False for `&&`, True for `||`
    parts: "tuple[Node, ...]"
    text: str = ""
    at: int = NOWHERE


_Value: TypeAlias = Literal | ListLiteral | Variable | Size
Node: TypeAlias = _Value | State | Has | MatchPath | MatchAny | Compare | Not | Junction


def children(node: Node) -> "tuple[Node, ...]":
    """Return the children of a node."""
    match node:
        case Junction(_, parts) | ListLiteral(parts):
            return parts
        case Compare(_, left, right):
            return left, right
        case Not(operand) | Size(operand) | MatchPath(operand) | MatchAny(operand) | Has(operand):
            return (operand,)
        case _:
            return ()


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and its descendants, in text order."""
    yield node
    for child in children(node):
        yield from walk(child)


OPERATORS = frozenset({"==", "!=", "<", "<=", ">", ">=", "in"})
METHODS = ("startsWith", "endsWith", "contains")
FUNCTIONS = ("has", "size", "state", "matchPath")
_CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_KEYWORDS = frozenset({*_CONSTANTS, "in"})
_INT64 = range(-(2**63), 2**63)

_DIGITS = frozenset("0123456789")
_HEX = _DIGITS | frozenset("abcdefABCDEF")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_WORD = _LETTERS | _DIGITS
_SPACE = frozenset(" \t\n\f\r")
_PAIRS = frozenset({"||", "&&", "==", "!=", "<=", ">="})
_SIGNS = frozenset("!<>()[].,")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
_HINTS = {
    "=": "write `==`",
    "&": "write `&&`",
    "|": "write `||`",
    "and": "write `&&`",
    "or": "write `||`",
    **dict.fromkeys("'\"", "end the text with the same quote, on the same line"),
    **dict.fromkeys("+-*/%", "conditions compare; they do not calculate"),
}


def position(text: str, at: int) -> tuple[int, int]:
    """Return the line and column of an offset, both from 1."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def _error(text: str, at: int, message: str, hint: str | None = None) -> ConditionError:
    line, column = position(text, at)
    return ConditionError(message, line=line, column=column, hint=hint)


_NAME, _STRING, _NUMBER, _SIGN, _END = range(5)


class _Token(NamedTuple):
    kind: int
    text: str
    at: int


def _tokens(text: str) -> Iterator[_Token]:
    """Split a text into tokens; the last one is the end token."""
    if len(text) > MAX_LENGTH:
        raise _error(text, MAX_LENGTH, f"the condition is longer than {MAX_LENGTH} characters")
    for at, char in enumerate("" if text.isprintable() else text):
        code = ord(char)
        if (code < 0x20 and char not in _SPACE) or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000:
            raise _error(text, at, f"the character U+{code:04X} is not allowed here")
    at = _after(_SPACE, text, 0)
    while at < len(text):
        kind, end = _scan(text, at)
        if end == at:
            raise _error(text, at, f"`{text[at]}` is not valid here", _HINTS.get(text[at]))
        yield _Token(kind, text[at:end], at)
        at = _after(_SPACE, text, end)
    yield _Token(_END, "", at)


def _scan(text: str, at: int) -> tuple[int, int]:
    """Return the kind of the token at an offset, and its end, which is the offset if there is none."""
    if text[at] in _LETTERS:
        return _NAME, _after(_WORD, text, at)
    if text[at] in "'\"":
        return _STRING, _string_end(text, at)
    if text[at + (text[at] == "-") :][:1] in _DIGITS:
        end = _after(_DIGITS, text, at + 1)
        is_double = text[end : end + 1] == "." and text[end + 1 : end + 2] in _DIGITS
        return _NUMBER, _after(_DIGITS, text, end + 1) if is_double else end
    return _SIGN, at + (2 if text[at : at + 2] in _PAIRS else text[at] in _SIGNS)


def _after(chars: frozenset[str], text: str, at: int) -> int:
    while text[at : at + 1] in chars:
        at += 1
    return at


def _string_end(text: str, start: int) -> int:
    at = start + 1
    while at < len(text) and text[at] not in "\n\r":
        if text[at] == text[start]:
            return at + 1
        at += 1 + (text[at] == "\\" and text[at + 1 : at + 2] not in ("\n", "\r"))
    return start


def _unquoted(token: _Token, text: str) -> str:
    """Return the value of a string token."""
    body, value, at = token.text[1:-1], "", 0
    while (slash := body.find("\\", at)) >= 0:
        sign, end = body[slash + 1], slash + 2
        char = _ESCAPES.get(sign, "\ud800")
        if sign == "u" and len(code := body[end : end + 4]) == 4 and _HEX.issuperset(code):
            char, end = chr(int(code, 16)), end + 4
        if "\ud800" <= char <= "\udfff":
            hint = "write `\\\\` for `\\`"
            raise _error(text, token.at + 1 + slash, f"`\\{sign}` is not a valid escape", hint)
        value, at = value + body[at:slash] + char, end
    return value + body[at:]


def parse(text: str) -> Node:
    """Parse a condition.

    Raises:
        ConditionError: the text is invalid or too large.
    """
    return _Parser(text).whole()


class _Parser:
    """Parses from left to right; each method parses one level of precedence."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [*_tokens(text)]
        self._at = 0
        self._next = self._tokens[0]
        self._depth = 0

    def whole(self) -> Node:
        node = self._either()
        if self._next.kind != _END:
            raise self._unexpected("`&&`, `||` or the end", self._next)
        return node

    def _either(self) -> Node:
        return self._joined("||", self._both, decisive=True)

    def _both(self) -> Node:
        return self._joined("&&", self._relation, decisive=False)

    def _joined(self, sign: str, part: Callable[[], Node], *, decisive: bool) -> Node:
        at = self._next.at
        parts = [part()]
        while self._takes(sign):
            parts.append(part())
        return parts[0] if len(parts) == 1 else Junction(decisive, tuple(parts), self._since(at), at)

    def _relation(self) -> Node:
        left = self._negated()
        if self._next.text not in OPERATORS:
            return left
        sign = self._take()
        right = self._negated()
        return Compare(sign.text, left, right, f"{left.text} {sign.text} {right.text}", sign.at)

    def _negated(self) -> Node:
        at, is_negated = self._next.at, False
        while self._takes("!"):  # as in CEL, two `!` cancel out
            is_negated = not is_negated
        node = self._member()
        return Not(node, f"!{node.text}", at) if is_negated else node

    def _member(self) -> Node:
        at = self._next.at
        node = self._primary()
        while (sign := self._next).text in (".", "["):
            self._take()
            name = self._take()
            is_key = sign.text == "["
            if name.kind != (_STRING if is_key else _NAME) or name.text in _KEYWORDS:
                raise self._unexpected(f"the name of a member{', as text' if is_key else ''}", name)
            if is_key:
                self._expect("]")
            elif self._next.text == "(":
                return self._method(node, name, at)
            if not isinstance(node, Variable):
                raise _error(self._text, name.at, "only variables have members")
            member = _unquoted(name, self._text) if is_key else name.text
            node = Variable((*node.path, member), self._since(at), node.at)
        return node

    def _method(self, node: Node, name: _Token, at: int) -> Compare:
        if name.text not in METHODS:
            raise self._unknown(name, METHODS, "method")
        (argument,) = self._arguments(name, 1)
        return Compare(name.text, node, argument, self._since(at), name.at)

    def _primary(self) -> Node:
        token = self._take()
        if token.kind == _STRING:
            return Literal(_unquoted(token, self._text), token.text, token.at)
        if token.kind == _NUMBER:
            value = float(token.text) if "." in token.text else int(token.text)
            if isinstance(value, int) and value not in _INT64:
                message = "the number does not fit into 64 bits"
                raise _error(self._text, token.at, message, "write it with `.0`")
            return Literal(value, token.text, token.at)
        if token.text in _CONSTANTS:
            return Literal(_CONSTANTS[token.text], token.text, token.at)
        if token.kind == _NAME and token.text != "in":
            return self._call(token) if self._next.text == "(" else Variable((token.text,), *token[1:])
        if token.text == "[":
            items = tuple(self._items("]"))
            return ListLiteral(items, self._since(token.at), token.at)
        if token.text != "(":
            raise self._unexpected("a value", token)
        self._deeper()
        node = self._either()
        self._depth -= 1
        self._expect(")")
        return node._replace(text=self._since(token.at))

    def _call(self, name: _Token) -> Node:
        if name.text not in FUNCTIONS:
            raise self._unknown(name, FUNCTIONS, "function")
        first, *others = self._arguments(name, 2 if name.text == "matchPath" else 1)
        text = self._since(name.at)
        if name.text == "size":
            return Size(first, text, name.at)
        if name.text == "state":
            return State(self._literal(first, "`state` takes a literal text: `state('x')`"), text, name.at)
        if name.text == "matchPath":
            return self._match_path(first, others[0], text, name.at)
        is_member = self._tokens[self._at - 2].kind == _NAME  # not `a['b']`
        if not isinstance(first, Variable) or len(first.path) < 2 or not is_member:
            raise _error(self._text, name.at, "`has` takes a member of a variable: `has(a.b)`")
        return Has(first, text, name.at)

    def _match_path(self, path: Node, pattern: Node, text: str, at: int) -> MatchPath:
        message = "the pattern of `matchPath` must be a literal: `matchPath(a.b, '/c/**')`"
        literal = self._literal(pattern, message)
        try:
            return MatchPath(path, path_pattern(literal), text, at)
        except ConditionError as mistake:
            raise _error(self._text, pattern.at, str(mistake), mistake.hint) from None

    def _literal(self, node: Node, message: str) -> str:
        if isinstance(node, Literal) and isinstance(node.value, str):
            return node.value
        raise _error(self._text, node.at, message)

    def _arguments(self, name: _Token, count: int) -> list[Node]:
        self._expect("(")
        arguments = self._items(")")
        if len(arguments) != count:
            values = "one value" if count == 1 else f"{count} values"
            raise _error(self._text, name.at, f"`{name.text}` takes {values}, not {len(arguments)}")
        return arguments

    def _items(self, closing: str) -> list[Node]:
        self._deeper()
        items: list[Node] = []
        while self._next.text != closing:
            items.append(self._either())
            if not self._takes(","):
                break
            if closing == ")" == self._next.text:  # as in CEL, only a list may have a trailing comma
                raise self._unexpected("a value", self._next)
        self._depth -= 1
        self._expect(closing)
        return items

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            message = f"the condition is nested more than {MAX_DEPTH} deep"
            raise _error(self._text, self._next.at, message, "split it")

    def _since(self, start: int) -> str:
        """Return the text from an offset to the last token taken, on one line."""
        last = self._tokens[self._at - 1]
        text = self._text[start : last.at + len(last.text)]
        return text if text.isprintable() else " ".join(text.split())

    def _take(self) -> _Token:
        token = self._next
        if token.kind != _END:
            self._at += 1
            self._next = self._tokens[self._at]
        return token

    def _takes(self, sign: str) -> bool:
        return self._next.text == sign and bool(self._take())

    def _expect(self, sign: str) -> None:
        if not self._takes(sign):
            raise self._unexpected(f"`{sign}`", self._next)

    def _unexpected(self, wanted: str, token: _Token) -> ConditionError:
        actual = "the end" if token.kind == _END else f"`{token.text}`"
        message = f"expected {wanted}, found {actual}"
        return _error(self._text, token.at, message, _HINTS.get(token.text))

    def _unknown(self, name: _Token, known: Sequence[str], what: str) -> ConditionError:
        from remit.text import did_you_mean  # only mistakes need it, and it compiles patterns

        hint = did_you_mean(name.text, known) or f"expected one of {', '.join(f'`{word}`' for word in known)}"
        return _error(self._text, name.at, f"unknown {what} `{name.text}`", hint)
