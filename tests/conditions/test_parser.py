import pytest

from remit.conditions.condition import Condition
from remit.conditions.parser import parse
from remit.conditions.path_patterns import path_pattern
from remit.conditions.printer import write
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
from remit.decision.state_snapshot import Snapshot
from remit.errors import ConditionError

A, B, C = Variable(("a",)), Variable(("b",)), Variable(("c",))
ONE = Literal(1, CelType.INT)


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("a || b && c", Or((A, And((B, C))))),
        ("(a || b) && c", And((Or((A, B)), C))),
        ("a && b && c", And((A, B, C))),
        ("!a == b", Compare(Operator.EQUAL, Not(A), B)),
        ("!(a == b)", Not(Compare(Operator.EQUAL, A, B))),
        ("!!a", A),
        ("!!!a", Not(A)),
        ("!(!(a))", Not(Not(A))),
        ("a < b == c", Compare(Operator.EQUAL, Compare(Operator.LESS, A, B), C)),
        ("a in [b, 1]", Compare(Operator.IN, A, ListLiteral((B, ONE)))),
        ("a in [1,]", Compare(Operator.IN, A, ListLiteral((ONE,)))),
        ("a in []", Compare(Operator.IN, A, ListLiteral(()))),
        ("a.b", Variable(("a", "b"))),
        ("a . b", Variable(("a", "b"))),
        ("(a).b", Variable(("a", "b"))),
        ("a['b-c'].d", Variable(("a", "b-c", "d"))),
        ("a.if", Variable(("a", "if"))),
        ("has(a.b)", Has(Variable(("a", "b")))),
        ("has(a['x'].b)", Has(Variable(("a", "x", "b")))),
        ("size(a) >= 1", Compare(Operator.AT_LEAST, Size(A), ONE)),
        ("a.contains('x')", TextTest(Method.CONTAINS, A, Literal("x", CelType.STRING))),
        ("'x'.startsWith(a)", TextTest(Method.STARTS_WITH, Literal("x", CelType.STRING), A)),
        ("state('git-initialized')", State("git-initialized")),
        ("matchPath(a, '/b/*')", MatchPath(A, path_pattern("/b/*"))),
        ("state", Variable(("state",))),
        ("\n a\t||\r\n\fb ", Or((A, B))),
    ],
)
def test_conditions_are_read(text: str, node: Node) -> None:
    assert parse(text) == node


@pytest.mark.parametrize(
    ("text", "value", "type_"),
    [
        ("true", True, CelType.BOOL),
        ("false", False, CelType.BOOL),
        ("null", None, CelType.NULL),
        ("12", 12, CelType.INT),
        ("0012", 12, CelType.INT),
        ("-12", -12, CelType.INT),
        ("- 12", -12, CelType.INT),
        ("0x1F", 31, CelType.INT),
        ("-0x1f", -31, CelType.INT),
        ("9223372036854775807", 2**63 - 1, CelType.INT),
        ("-9223372036854775808", -(2**63), CelType.INT),
        ("1.5", 1.5, CelType.DOUBLE),
        ("-.5", -0.5, CelType.DOUBLE),
        ("1e3", 1000.0, CelType.DOUBLE),
        ("1.5E-3", 0.0015, CelType.DOUBLE),
        ("'it'", "it", CelType.STRING),
        (r"'it\'s'", "it's", CelType.STRING),
        ('"it\'s"', "it's", CelType.STRING),
        (r"'\a\b\f\n\r\t\v\\\"\`\?'", '\a\b\f\n\r\t\v\\"`?', CelType.STRING),
        (r"'\x41\X41\u0041\U00000041\101'", "AAAAA", CelType.STRING),
        (r"'\U0001F600é'", "😀é", CelType.STRING),
        (r"'\x00'", "\0", CelType.STRING),
    ],
)
def test_values_are_read(text: str, value: object, type_: CelType) -> None:
    node = parse(text)
    assert isinstance(node, Literal)
    assert (node.value, node.type) == (value, type_)


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("", "expected a value, found the end", (1, 1)),
        ("a &&", "expected a value, found the end", (1, 5)),
        ("a &&\n  || b", "expected a value, found `||`", (2, 3)),
        ("a b", "expected `&&`, `||` or the end, found `b`", (1, 3)),
        ("a and b", "expected `&&`, `||` or the end, found `and`", (1, 3)),
        ("(a", "expected `)`, found the end", (1, 3)),
        ("[a", "expected `]`, found the end", (1, 3)),
        ("in", "expected a value, found `in`", (1, 1)),
        ("a.", "expected the name of a member, found the end", (1, 3)),
        ("a.true", "expected the name of a member, found `true`", (1, 3)),
        ("a[0]", "expected the name of a member, as text, found `0`", (1, 3)),
        ("a['b'", "expected `]`, found the end", (1, 6)),
        ("'x'.y", "only variables have members", (1, 5)),
        ("1['y']", "only variables have members", (1, 3)),
        ("[a].b", "only variables have members", (1, 5)),
        ("-a", "expected a number after `-`, found `a`", (1, 2)),
        ("a - 1", "expected `&&`, `||` or the end, found `-`", (1, 3)),
        ("a + 1", "`+` is not valid here", (1, 3)),
        ("a = 1", "`=` is not valid here", (1, 3)),
        ("a ? b : c", "`?` is not valid here", (1, 3)),
        ("'x", "`'` is not valid here", (1, 1)),
        ("'a\nb'", "`'` is not valid here", (1, 1)),
        ("a == `x`", "``` is not valid here", (1, 6)),
        ("\x00", "the character U+0000 is not allowed here", (1, 1)),
        ("'\x1b'", "the character U+001B is not allowed here", (1, 2)),
        ("'\ud800'", "the character U+D800 is not allowed here", (1, 2)),
        (r"'ab\q'", r"`\q` is not an escape", (1, 4)),
        (r"'\ud800'", r"`\ud800` is not an escape", (1, 2)),
        (r"'\U00110000'", r"`\U00110000` is not an escape", (1, 2)),
        (r"'\400'", r"`\4` is not an escape", (1, 2)),
        (r"'\0'", r"`\0` is not an escape", (1, 2)),
        (r"'\xg0'", r"`\x` is not an escape", (1, 2)),
        ("9223372036854775808", "the number does not fit into 64 bits", (1, 1)),
        ("-9223372036854775809", "the number does not fit into 64 bits", (1, 1)),
        ("if", "`if` is a reserved word, not a variable", (1, 1)),
        ("stat('x')", "unknown function `stat`", (1, 1)),
        ("a.startWith('x')", "unknown method `startWith`", (1, 3)),
        ("a.matches('x')", "unknown method `matches`", (1, 3)),
        ("state()", "`state` takes one value, not 0", (1, 1)),
        ("state('a', 'b')", "`state` takes one value, not 2", (1, 1)),
        ("state('a',)", "expected a value, found `)`", (1, 11)),
        ("state(a)", "`state` takes a literal text: `state('x')`", (1, 7)),
        ("matchPath(a)", "`matchPath` takes 2 values, not 1", (1, 1)),
        (
            "matchPath(a, b)",
            "the pattern of `matchPath` must be a literal: `matchPath(a.b, '/c/**')`",
            (1, 14),
        ),
        ("matchPath(a, '/b//c')", "the pattern `/b//c` has an empty segment", (1, 14)),
        ("has(a)", "`has` takes a member of a variable: `has(a.b)`", (1, 1)),
        ("has(a['b'])", "`has` takes a member of a variable: `has(a.b)`", (1, 1)),
        ("has('b')", "`has` takes a member of a variable: `has(a.b)`", (1, 1)),
        ("size(a", "expected `)`, found the end", (1, 7)),
        ("a.contains 'x'", "expected `&&`, `||` or the end, found `'x'`", (1, 12)),
    ],
)
def test_what_cannot_be_read_is_an_error_with_its_place(
    text: str, message: str, place: tuple[int, int]
) -> None:
    with pytest.raises(ConditionError) as caught:
        parse(text)
    assert (str(caught.value), (caught.value.line, caught.value.column)) == (message, place)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a = 1", "write `==`"),
        ("a & b", "write `&&`"),
        ("a or b", "write `||`"),
        ("a * 2 == 4", "conditions compare; they do not calculate"),
        ("stat('x')", "did you mean `state`?"),
        ("matches(a)", "expected one of `has`, `size`, `state`, `matchPath`"),
        ("a.startsWit('x')", "did you mean `startsWith`?"),
        ("a.matches('x')", "expected one of `startsWith`, `endsWith`, `contains`"),
        ("9223372036854775808", "write it with `.0`"),
    ],
)
def test_errors_say_what_to_write_instead(text: str, hint: str) -> None:
    with pytest.raises(ConditionError) as caught:
        parse(text)
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a" * 4097, "longer than 4096 characters"),
        ("(" * 25 + "a" + ")" * 25, "nested more than 24 deep"),
        ("a" + ".b" * 24, "nested more than 24 deep"),
        ("a" + "['b']" * 800, "nested more than 24 deep"),
        ("[" * 2000, "nested more than 24 deep"),
        ("!(" * 1000, "nested more than 24 deep"),
        (" == ".join("a" * 26), "nested more than 24 deep"),
        (" && ".join(["a"] * 512), "more than 512 parts"),
        (f"a in [{', '.join(['1'] * 65)}]", "the list has more than 64 items"),
        (f"size({', '.join(['1'] * 65)})", "the list has more than 64 items"),
    ],
)
def test_what_is_too_large_is_an_error(text: str, message: str) -> None:
    with pytest.raises(ConditionError, match=message):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 4096,
        "(" * 24 + "a" + ")" * 24,
        "!" * 4000 + "a",
        " && ".join(["a"] * 511),
        f"a in [{', '.join(['1'] * 64)}]",
        "a" + ".b" * 23,
    ],
)
def test_what_is_just_not_too_large_is_read_and_evaluated(text: str) -> None:
    Condition(parse(text)).truth(Snapshot())


@pytest.mark.parametrize(
    "text",
    [
        "a || b && !c",
        "(a || b) && !(c && a)",
        "!(a == 'x') || a in ['x', 1, -2.5, null, true]",
        "(a == b) == c",
        "a == (b == c)",
        r"a['b-c']['in'].d == 'it\'s \\ \U0000000a'",
        "state('x') && has(a.b) && size(a) > 2 && matchPath(a.b, '/x/**')",
        "(!a).startsWith('x')",
        "a.startsWith('x') && (a && b || c)",
        "a || (b || c) || (a && (b && c))",
        "!(!a)",
        "a == 1e999 || a == -1e999",
    ],
)
def test_what_is_written_of_a_condition_reads_back_as_the_same(text: str) -> None:
    assert parse(write(parse(text))) == parse(text)


def test_a_place_is_no_part_of_what_a_condition_says() -> None:
    assert parse("a  ==  1") == parse("a == 1")
    assert parse("a == 1") != parse("a == 1.0")
    assert parse("a == 1") != parse("a == true")


def test_a_condition_is_walked_in_the_order_of_its_text() -> None:
    names = [
        node.path[0] for node, _ in walk(parse("a && (b || !c) && d == e")) if isinstance(node, Variable)
    ]
    assert names == [*"abcde"]
