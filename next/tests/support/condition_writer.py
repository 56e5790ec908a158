"""Writes conditions at random: every operator and every type, texts with escapes, and much that fails."""

import random
from collections.abc import Callable

STATES = ("ready", "git-initialized", "project.open", "hung", "absent")
STRINGS = ("", "a", "main", "main/x", "é", "😀", "a\\b", "it's", 'say "x"', "/blog", "/blog/7", "\x00", "\n")
NUMBERS = (
    *("0", "1", "-1", "2", "3", "7", "-0", "16", "9007199254740993", "9223372036854775807"),
    *("-9223372036854775808", "0.0", "1.0", "-1.5", "2.5", "0.5", "3.0", "9007199254740992.0"),
    *("9223372036854775808.0", "-0.0"),
)
PATTERNS = ("/blog", "/blog/*", "/blog/**", "/**", "/:page", "**", "/b*g", "/*/7", "main")
MEMBERS = ("branch", "count", "ratio", "dirty", "tags", "meta", "none", "mixed")
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
METHODS = ("startsWith", "endsWith", "contains")


class Writer:
    """Writes one condition after another, about variables that may have any type or not be there."""

    roots = ("git",) * 6 + ("app", "app", "flag", "name", "gone")
    members = (*MEMBERS, *MEMBERS, "nope", "if")
    odd_members = ("b-c", "x y", "in", "é", "", *MEMBERS)
    words = ("true", "false", "null")
    most_items = 5

    def __init__(self, seed: str) -> None:
        self.chance = random.Random(seed)  # noqa: S311 - conditions, not secrets

    def condition(self) -> str:
        return self.truth(self.chance.choice((0, 1, 1, 1, 2, 2, 3)))

    def truth(self, depth: int) -> str:
        if depth <= 0 or self.chance.random() < 0.1:
            return self.question(depth)
        write = self.chance.choice((self.joined,) * 5 + (self.negated, self.question))
        return write(depth)

    def joined(self, depth: int) -> str:
        sign = self.chance.choice(("&&", "||"))
        space = self.chance.choice((" ", " ", "", "\n", "\t"))
        parts = [self.truth(depth - 1) for _ in range(self.chance.choice((2, 2, 2, 3, 4)))]
        return f"{space}{sign}{space}".join(f"({part})" for part in parts)

    def negated(self, depth: int) -> str:
        return "!" * self.chance.choice((1, 1, 1, 2, 3)) + f"({self.truth(depth - 1)})"

    def question(self, depth: int) -> str:
        return self.chance.choice(self.questions())(depth)

    def questions(self) -> list[Callable[[int], str]]:
        often = [self.likely] * 5 + [self.state] * 4 + [self.comparison, self.membership, self.text_test] * 2
        return [*often, self.has, self.match, self.nested, self.value]

    def likely(self, _: int) -> str:
        """Write a question that has an answer in most worlds."""
        about = self.chance.choice(("branch", "count", "ratio", "dirty"))
        literals = {"branch": STRINGS, "dirty": ("true", "false")}.get(about, NUMBERS)
        literal = self.chance.choice(literals)
        literal = self.quoted(literal) if about == "branch" else literal
        return f"git.{about} {self.chance.choice(COMPARISONS)} {literal}"

    def comparison(self, depth: int) -> str:
        return f"{self.value(depth)} {self.chance.choice(COMPARISONS)} {self.value(depth)}"

    def nested(self, depth: int) -> str:
        return f"({self.comparison(depth)}) {self.chance.choice(COMPARISONS)} {self.value(depth)}"

    def membership(self, depth: int) -> str:
        container = self.variable() if self.chance.random() < 0.4 else self.listing(depth)
        return f"{self.value(depth)} in {container}"

    def state(self, _: int) -> str:
        return f"{self.chance.choice(('', '', '!'))}state({self.quoted(self.chance.choice(STATES))})"

    def has(self, _: int) -> str:
        return f"has({self.variable()}.{self.chance.choice(self.members)})"

    def text_test(self, depth: int) -> str:
        receiver = self.chance.choice(("git.branch", "name", self.value(depth)))
        receiver = f"({receiver})" if receiver[0] in "-!0123456789" else receiver
        argument = (
            self.value(depth) if self.chance.random() < 0.3 else self.quoted(self.chance.choice(STRINGS))
        )
        return f"{receiver}.{self.chance.choice(METHODS)}({argument})"

    def match(self, depth: int) -> str:
        path = self.chance.choice(("git.branch", self.value(depth)))
        return f"matchPath({path}, {self.quoted(self.chance.choice(PATTERNS))})"

    def value(self, depth: int) -> str:
        chance = self.chance.random()
        if chance < 0.45:
            return self.variable()
        if chance < 0.62:
            return self.quoted(self.chance.choice(STRINGS))
        if chance < 0.8:
            return self.chance.choice(NUMBERS)
        if chance < 0.87:
            return self.chance.choice(self.words)
        if chance < 0.92:
            return f"size({self.variable() if depth <= 0 else self.value(depth - 1)})"
        return self.listing(depth) if chance < 0.97 else f"({self.truth(depth - 1)})"

    def listing(self, depth: int, /) -> str:
        items = [self.value(depth - 2) for _ in range(self.chance.randint(0, self.most_items))]
        return f"[{', '.join(items)}{self.chance.choice(('', '', ',')) if items else ''}]"

    def variable(self) -> str:
        steps = range(self.chance.choice((0, 1, 1, 1, 1, 2)))
        return self.chance.choice(self.roots) + "".join(self.member() for _ in steps)

    def member(self) -> str:
        if self.chance.random() < 0.8:
            return f".{self.chance.choice(self.members)}"
        return f"[{self.quoted(self.chance.choice(self.odd_members))}]"

    def quoted(self, text: str) -> str:
        quote = self.chance.choice("'\"")
        return quote + "".join(self.sign(each, quote) for each in text) + quote

    def sign(self, sign: str, quote: str) -> str:
        if sign in (quote, "\\"):
            return f"\\{sign}"
        code = ord(sign)
        is_plain = code >= 0x20 and self.chance.random() > 0.05
        return sign if is_plain or code > 0xFFFF else f"\\u{code:04x}"


class TypedWriter(Writer):
    """Writes conditions about variables whose types are declared, and some that are not."""

    words = ("true", "false")
    variables = ("git.branch", "git.count", "git.ratio", "git.dirty", "git.tags", "git.meta", "git.mixed")
    odd = ("git.nope", "gone", "git.branch.x", "git.meta.x", "git.tags.x", "git.mixed.x.y", "git.meta.x.y")

    def questions(self) -> list[Callable[[int], str]]:
        return [
            *([self.likely] * 8),
            self.state,
            self.comparison,
            self.membership,
            self.text_test,
            self.match,
            self.null,
        ]

    def null(self, depth: int) -> str:
        return f"{self.value(depth)} {self.chance.choice(('==', '!='))} null"

    def variable(self) -> str:
        return self.chance.choice(self.odd if self.chance.random() < 0.02 else self.variables)

    def listing(self, _: int, /) -> str:
        """Write a list of items of any type, because the types of items are not checked."""
        return f"[{', '.join('git.mixed' for _ in range(self.chance.choice((1, 2, 3))))}]"
