import pytest

from remit.decision import Snapshot
from remit.decision.when import Condition, Vocabulary, mistakes_in
from remit.errors import ConditionError

NOTHING = Snapshot()


def error_of(text: str) -> ConditionError:
    mistake = mistakes_in(Condition(when=text), Vocabulary())[0]
    assert mistake.key == "when"
    return mistake.as_error()


@pytest.mark.parametrize(
    "text",
    [
        "true || false && false",
        "(true || nope) && !(true && false)",
        "!!true && !!!false && !(!(true))",
        "(false == false) == true",
        "!true == false",
        "size([1,]) == 1 && size([]) == 0",
        "\n true\t||\r\n\ffalse ",
        r"'it\'s' == " + '"it\'s"' + r" && '\u0041\n\r\t\\' == " + r'"A\n\r\t\\"',
        "-12 == -12.0 && 0012 == 12 && 9223372036854775807 > -9223372036854775808",
    ],
)
def test_conditions_are_parsed(text: str) -> None:
    assert Condition(when=text).truth(NOTHING) is True


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("", "expected a value, found the end", (1, 1)),
        ("a &&\n  || b", "expected a value, found `||`", (2, 3)),
        ("a b", "expected `&&`, `||` or the end, found `b`", (1, 3)),
        ("a == b == c", "expected `&&`, `||` or the end, found `==`", (1, 8)),
        ("(a", "expected `)`, found the end", (1, 3)),
        ("in", "expected a value, found `in`", (1, 1)),
        ("a.true", "expected the name of a member, found `true`", (1, 3)),
        ("a[0]", "expected the name of a member, as text, found `0`", (1, 3)),
        ("a['b'", "expected `]`, found the end", (1, 6)),
        ("'x'.y", "only variables have members", (1, 5)),
        ("[a].b", "only variables have members", (1, 5)),
        ("a - 1", "`-` is not valid here", (1, 3)),
        ("0x10", "expected `&&`, `||` or the end, found `x10`", (1, 2)),
        ("'x", "`'` is not valid here", (1, 1)),
        ("'a\nb'", "`'` is not valid here", (1, 1)),
        ("'a\\\nb'", "`'` is not valid here", (1, 1)),
        (r"'ab\q'", r"`\q` is not a valid escape", (1, 4)),
        (r"'\ud800'", r"`\u` is not a valid escape", (1, 2)),
        (r"'\u00g0'", r"`\u` is not a valid escape", (1, 2)),
        ("-9223372036854775809", "the number does not fit into 64 bits", (1, 1)),
        ("stat('x')", "unknown function `stat`", (1, 1)),
        ("a.matches('x')", "unknown method `matches`", (1, 3)),
        ("state('a', 'b')", "`state` takes one value, not 2", (1, 1)),
        ("state('a',)", "expected a value, found `)`", (1, 11)),
        ("state(a)", "`state` takes a literal text: `state('x')`", (1, 7)),
        ("matchPath(a)", "`matchPath` takes 2 values, not 1", (1, 1)),
        ("matchPath(a, '/b//c')", "the pattern `/b//c` has an empty segment", (1, 14)),
        ("has(a)", "`has` takes a member of a variable: `has(a.b)`", (1, 1)),
        ("has(a['b'])", "`has` takes a member of a variable: `has(a.b)`", (1, 1)),
        ("a.contains('x').contains('y')", "expected `&&`, `||` or the end, found `.`", (1, 16)),
    ],
)
def test_what_cannot_be_parsed_is_a_mistake_with_its_place(
    text: str, message: str, place: tuple[int, int]
) -> None:
    error = error_of(text)
    assert (str(error), (error.line, error.column)) == (message, place)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a = 1", "write `==`"),
        ("a & b", "write `&&`"),
        ("a or b", "write `||`"),
        ("a * 2 == 4", "conditions compare; they do not calculate"),
        ("stat('x')", "did you mean `state`?"),
        ("a.startsWit('x')", "did you mean `startsWith`?"),
        ("a.matches('x')", "expected one of `startsWith`, `endsWith`, `contains`"),
        ("9223372036854775808", "write it with `.0`"),
    ],
)
def test_mistakes_say_what_to_write_instead(text: str, hint: str) -> None:
    assert error_of(text).hint == hint


@pytest.mark.parametrize("char", ["\x00", "\x1b", "\x7f", "\x9f", "\ud800"])
def test_controls_and_lone_surrogates_are_refused_in_texts_too(char: str) -> None:
    error = error_of(f"a == '{char}'")
    assert str(error) == f"the character U+{ord(char):04X} is not allowed here"
    assert error.column == 7


@pytest.mark.parametrize("text", ["(" * 25 + "a" + ")" * 25, "[" * 2000, "!(" * 1000, "size(" * 25])
def test_what_is_nested_too_deeply_is_refused(text: str) -> None:
    assert str(error_of(text)) == "the condition is nested more than 24 deep"


def test_what_is_too_long_is_refused_and_the_longest_is_evaluated() -> None:
    assert str(error_of("a" * 4097)) == "the condition is longer than 4096 characters"
    for text in ("a" * 4096, "!" * 4095 + "a", "a" + ".b" * 2000, "(" * 24 + "a" + ")" * 24):
        assert Condition(when=text).judge(NOTHING).reason.startswith("needs ")
    assert Condition(when=" && ".join(["true"] * 500)).truth(NOTHING) is True


def test_two_negations_cancel_and_only_lists_take_a_trailing_comma() -> None:
    assert Condition(when="!!nope == 1").judge(NOTHING).reason == "needs nope == 1 (nope is not known)"
    assert Condition(when="!!1 == 1").truth(NOTHING) is True
    assert Condition(when="1 in [1,]").truth(NOTHING) is True
    assert str(error_of("size([1],) == 1")) == "expected a value, found `)`"
