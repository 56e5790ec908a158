"""Conditions mean what they mean in CEL, and no text does harm.

The other opinion is Google's own implementation. Every condition is asked in two worlds, of which each has
other types behind the same names; with the types declared, both have to find the
same conditions wrong.
"""

import os
import random
import time
from collections.abc import Callable
from typing import Any, cast

import pytest
from cel_expr_python import cel  # pyright: ignore[reportMissingTypeStubs] - has them, in a folder without a module

from remit.conditions.check import Vocabulary, check, type_mistakes
from remit.conditions.condition import Condition, condition
from remit.conditions.parser import parse
from remit.conditions.path_patterns import matches, path_pattern
from remit.conditions.printer import write
from remit.conditions.satisfiability import contradiction
from remit.conditions.syntax import CelType, Node
from remit.decision.state_snapshot import JsonValue, Snapshot, StateValue
from remit.errors import ConditionError
from support.condition_writer import MEMBERS, STATES, STRINGS, TypedWriter, Writer

CONDITIONS = int(os.environ.get("REMIT_PROOF_CONDITIONS", "1000"))
SEED = os.environ.get("REMIT_PROOF_SEED", "7")
PARTS = 2  # run side by side, each with conditions of its own
PATIENCE = 1.0  # seconds of this process's own time; what hangs takes far longer, also on a slow day

KNOWN = {"ready": True, "git-initialized": False, "project.open": True}
VALUES = {name: StateValue(KNOWN.get(name), "") for name in STATES if name != "absent"}
NAN = float("nan")


def world(*members: JsonValue) -> dict[str, JsonValue]:
    branch, count, ratio, dirty, tags, meta, none, mixed = members
    git: dict[str, JsonValue] = {"branch": branch, "count": count, "ratio": ratio, "dirty": dirty}
    git |= {"tags": tags, "meta": meta, "none": none, "mixed": mixed}
    app: dict[str, JsonValue] = {
        "branch": count,
        "count": "x",
        "tags": tags,
        "x y": True,
        "if": 2.5,
        "ratio": mixed,
    }
    app |= {"meta": {"branch": "main", "b-c": 1, "tags": {}}}
    return {"git": git, "app": app, "flag": dirty, "name": branch}


WORLDS = (
    world("main", 3, 2.5, True, ["a", "main"], {"branch": "a", "count": 1}, None, [1, 2.0, "a", True, None]),
    world("/blog/7", 1, 1.0, False, [], {}, None, [NAN, [1], {"a": 1}]),
    world("", 2**63 - 1, 2.0**63, True, [1, 2, 3], {"a": None}, 0, "mixed"),
    world("é😀", 2**53 + 1, 2.0**53, False, ["é"], {"b-c": [1]}, "", {"branch": {"x": 1}}),
    world(7, 0, NAN, 0, "tags", ["x"], True, -1),
)
SNAPSHOTS = tuple(Snapshot(states=VALUES, variables=each) for each in WORLDS)
TYPES = {"branch": CelType.STRING, "count": CelType.INT, "ratio": CelType.DOUBLE, "dirty": CelType.BOOL} | {
    "tags": CelType.LIST,
    "meta": CelType.MAP,
    "mixed": CelType.DYN,
}


def _state(name: str) -> bool:
    return KNOWN[name]  # where it raises, there is no value


def _match_path(path: str, pattern: str) -> bool:
    return matches(path_pattern(pattern), path)


def _oracle(variables: dict[str, cel.Type]) -> cel.Env:
    def declared(name: str, answer: Callable[..., bool], count: int) -> cel.FunctionDecl:
        overload = cel.Overload(name, cel.Type.BOOL, [cel.Type.STRING] * count, is_member=False, impl=answer)
        return cel.FunctionDecl(name, [overload])

    functions = [declared("state", _state, 1), declared("matchPath", _match_path, 2)]
    return cel.NewEnv(variables=variables, functions=functions)


@pytest.fixture(scope="module")
def oracle() -> cel.Env:
    return _oracle(dict.fromkeys(("git", "app", "flag", "name", "gone"), cel.Type.DYN))


def _said(expression: cel.Expression, activation: cel.Activation) -> bool | None:
    value = expression.eval(activation)
    return cast(bool, value.value()) if value.type() == cel.Type.BOOL else None


@pytest.mark.proof
@pytest.mark.parametrize("part", range(PARTS))
def test_conditions_mean_what_they_mean_in_cel(part: int, oracle: cel.Env) -> None:
    writer = Writer(f"{SEED}/{part}")
    activations = [oracle.Activation(cast("dict[str, Any]", each)) for each in WORLDS]
    answers = {True: 0, False: 0, None: 0}
    for number in range(CONDITIONS // PARTS):
        text = writer.condition()
        expression = oracle.compile(text, disable_check=True)
        read_one = condition(when=text)
        for at in (number % len(WORLDS), (number + 2) % len(WORLDS)):
            said = _said(expression, activations[at])
            answers[said] += 1
            assert read_one.truth(SNAPSHOTS[at]) is said, (text, at)
    assert min(answers.values()) > CONDITIONS // PARTS // 5, "each answer is a good part of all"


@pytest.mark.proof
@pytest.mark.parametrize("part", range(PARTS))
def test_the_types_of_conditions_are_checked_as_cel_checks_them(part: int) -> None:
    oracle = _oracle({f"git.{name}": getattr(cel.Type, each.name) for name, each in TYPES.items()})
    writer = TypedWriter(f"{SEED}/typed/{part}")
    right = 0
    for _ in range(CONDITIONS // PARTS // 2):
        text = writer.condition()
        try:
            is_right = oracle.compile(text).return_type() in (cel.Type.BOOL, cel.Type.DYN)
        except RuntimeError:
            is_right = False
        right += is_right
        found = type_mistakes(condition(when=text), Vocabulary(states=STATES, variables={"git": TYPES}))
        assert (not found) is is_right, (text, found)
    assert 0.1 < right / (CONDITIONS // PARTS // 2) < 0.9


@pytest.mark.proof
@pytest.mark.parametrize("part", range(PARTS))
def test_of_a_condition_that_holds_somewhere_it_is_never_said_that_it_cannot(part: int) -> None:
    writer = Writer(f"{SEED}/never/{part}")
    said = 0
    for _ in range(CONDITIONS // PARTS // 10):
        text = writer.condition()
        root = parse(text)
        if contradiction(root):
            said += 1
            worlds = (*SNAPSHOTS, *(random_snapshot(writer.chance) for _ in range(50)))
            assert True not in [Condition(root).truth(each) for each in worlds], text
    assert said > CONDITIONS // PARTS // 1000


NEAR: tuple[JsonValue, ...] = (
    *STRINGS,
    *(f"{text}\0" for text in STRINGS),
    *(-2, -1.25, 0.25, 0, 1, 1.75, 2, 3, 4, 7, 16, 1000),
)
OTHERS: tuple[JsonValue, ...] = (
    True,
    False,
    None,
    NAN,
    2**53,
    2.0**53,
    2**63 - 1,
    [],
    ["a"],
    {},
    {"branch": "a"},
)


def random_snapshot(chance: random.Random) -> Snapshot:
    """Make a world of values that conditions name, and of those next to them."""
    git = {name: chance.choice((*NEAR, *OTHERS)) for name in MEMBERS if chance.random() < 0.9}
    values = {name: StateValue(chance.choice((True, False, None)), "") for name in STATES}
    name, flag = (chance.choice((*NEAR, *OTHERS)) for _ in range(2))
    return Snapshot(states=values, variables={"git": git, "app": {**git}, "name": name, "flag": flag})


@pytest.mark.proof
@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_written_of_a_condition_reads_back_as_the_same_and_says_why_it_does_not_hold(
    part: int,
) -> None:
    writer = Writer(f"{SEED}/written/{part}")
    for _ in range(CONDITIONS // PARTS // 10):
        read_one = condition(when=writer.condition())
        assert parse(write(read_one.root)) == read_one.root
        for snapshot in SNAPSHOTS[:2]:
            judged = read_one.judge(snapshot)
            assert judged.reason.startswith("needs ") is (judged.truth is not True)


@pytest.mark.proof
@pytest.mark.parametrize("part", range(PARTS))
def test_any_text_is_a_condition_or_a_typed_error_and_never_takes_long(part: int) -> None:
    writer = Writer(f"{SEED}/harm/{part}")
    vocabulary = Vocabulary(states=STATES, variables={"git": TYPES})
    read_ones = 0
    for number in range(CONDITIONS // PARTS):
        text = damaged(writer) if number % 2 else random_text(writer.chance)
        start = time.process_time()
        root = parsed(text)
        if isinstance(root, ConditionError):
            assert 1 <= root.line <= text.count("\n") + 1, text
            assert 1 <= root.column <= len(text) + 1, text
        else:
            read_ones += 1
            read = condition(when=text)
            read.truth(SNAPSHOTS[0])
            check(read, vocabulary)
        assert time.process_time() - start < PATIENCE, text
    assert read_ones > CONDITIONS // PARTS // 100


def parsed(text: str) -> Node | ConditionError:
    try:
        return parse(text)
    except ConditionError as error:
        return error


ALPHABET = "abginrtsx019._-'\"\\()[]{}<>=!&|+*/%?:,;#@$^~` \t\n\r\x00\x1b\x7f\x9f\u2028\ud800é😀"
PIECES = (
    "&&",
    "||",
    "==",
    "in",
    "has(",
    "size(",
    "state(",
    "matchPath(",
    "git.branch",
    "'x'",
    "[",
    "]",
    "(",
    ")",
)


def random_text(chance: random.Random) -> str:
    length = chance.choice((1, 3, 8, 20, 60))
    signs = ALPHABET if chance.random() < 0.5 else PIECES
    text = "".join(chance.choice(signs) + chance.choice(("", "", " ")) for _ in range(length))
    return text * chance.choice((1, 1, 1, 1, 50, 400)) if chance.random() < 0.05 else text


def damaged(writer: Writer) -> str:
    """Write a condition with a few signs dropped, doubled, changed, or moved in from another."""
    text, chance = writer.condition(), writer.chance
    for _ in range(chance.choice((1, 1, 2, 4))):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.choice((0, 1, 1, 2, 8)))
        other = chance.choice(("", text[start:end] * 2, chance.choice(ALPHABET), chance.choice(PIECES)))
        text = text[:start] + other + text[end:]
    return text
