"""Conditions mean what they mean in CEL, by Google's implementation, and no text does harm."""

import os
import random
import time
from collections.abc import Callable
from typing import Any, cast

from cel_expr_python import cel  # pyright: ignore[reportMissingTypeStubs] - has them, in a folder without a module

from remit.decision import JsonValue, Snapshot, StateValue
from remit.decision.when import CelType, Condition, Vocabulary, mistakes_in
from remit.decision.when.paths import matches, path_pattern
from support.condition_writer import STATES, TypedWriter, Writer

CONDITIONS = int(os.environ.get("REMIT_PROOF_CONDITIONS", "1000"))
SEED = os.environ.get("REMIT_PROOF_SEED", "7")
PATIENCE = 1.0  # seconds of this process's own time; what hangs takes far longer, also on a slow day

KNOWN = {"ready": True, "git-initialized": False, "project.open": True}
VALUES = {name: StateValue(KNOWN.get(name), "") for name in STATES if name != "absent"}
NAN = float("nan")


def world(*members: JsonValue) -> dict[str, JsonValue]:
    branch, count, ratio, dirty, tags, meta, none, mixed = members
    git: dict[str, JsonValue] = {"branch": branch, "count": count, "ratio": ratio, "dirty": dirty}
    git |= {"tags": tags, "meta": meta, "none": none, "mixed": mixed}
    app: dict[str, JsonValue] = {"branch": count, "count": "x", "tags": tags, "x y": True, "if": 2.5}
    app |= {"ratio": mixed, "meta": {"branch": "main", "b-c": 1, "tags": {}}}
    return {"git": git, "app": app, "flag": dirty, "name": branch}


WORLDS = (
    world("main", 3, 2.5, True, ["a", "main"], {"branch": "a", "count": 1}, None, [1, 2.0, "a", True, None]),
    world("/blog/7", 1, 1.0, False, [], {}, None, [NAN, [1], {"a": 1}]),
    world("", 2**63 - 1, 2.0**63, True, [1, 2, 3], {"a": None}, 0, "mixed"),
    world("é😀", 2**53 + 1, 2.0**53, False, ["é"], {"b-c": [1]}, "", {"branch": {"x": 1}}),
    world(7, 0, NAN, 0, "tags", ["x"], True, -1),
)
SNAPSHOTS = tuple(Snapshot(VALUES, variables) for variables in WORLDS)
TYPES = {"branch": CelType.STRING, "count": CelType.INT, "ratio": CelType.DOUBLE, "dirty": CelType.BOOL} | {
    "tags": CelType.LIST,
    "meta": CelType.MAP,
    "mixed": CelType.DYN,
}


def _state(name: str) -> bool:
    return KNOWN[name]  # where it raises, there is no value


def _match_path(path: str, pattern: str) -> bool:
    return matches(path_pattern(pattern), path)


def oracle(variables: dict[str, cel.Type]) -> cel.Env:
    def declared(name: str, answer: Callable[..., bool], count: int) -> cel.FunctionDecl:
        overload = cel.Overload(name, cel.Type.BOOL, [cel.Type.STRING] * count, is_member=False, impl=answer)
        return cel.FunctionDecl(name, [overload])

    functions = [declared("state", _state, 1), declared("matchPath", _match_path, 2)]
    return cel.NewEnv(variables=variables, functions=functions)


def answer(expression: cel.Expression, activation: cel.Activation) -> bool | None:
    value = expression.eval(activation)
    return cast("bool", value.value()) if value.type() == cel.Type.BOOL else None


def test_conditions_mean_what_they_mean_in_cel() -> None:
    env = oracle(dict.fromkeys(("git", "app", "flag", "name", "gone"), cel.Type.DYN))
    writer = Writer(SEED)
    activations = [env.Activation(cast("dict[str, Any]", variables)) for variables in WORLDS]
    answers = {True: 0, False: 0, None: 0}
    for number in range(CONDITIONS):
        text = writer.condition()
        expression = env.compile(text, disable_check=True)
        condition = Condition(when=text)
        assert not [part for _, part in condition.parts if isinstance(part, Exception)], text
        for at in (number % len(WORLDS), (number + 2) % len(WORLDS)):
            expected = answer(expression, activations[at])
            answers[expected] += 1
            judged = condition.judge(SNAPSHOTS[at])
            assert judged.truth is expected, (text, at)
            assert judged.reason.startswith("needs ") is (judged.truth is not True)
    assert min(answers.values()) > CONDITIONS // 5, "each answer is a good part of all"


def test_the_types_of_conditions_are_checked_as_cel_checks_them() -> None:
    env = oracle({f"git.{name}": getattr(cel.Type, type_.name) for name, type_ in TYPES.items()})
    writer = TypedWriter(f"{SEED}/typed")
    right = 0
    for _ in range(CONDITIONS // 2):
        text = writer.condition()
        try:
            is_right = env.compile(text).return_type() in (cel.Type.BOOL, cel.Type.DYN)
        except RuntimeError:
            is_right = False
        right += is_right
        mistakes = mistakes_in(Condition(when=text), Vocabulary(STATES, {"git": TYPES}))
        assert (not mistakes) is is_right, (text, mistakes)
    assert 0.1 < right / (CONDITIONS // 2) < 0.9


def test_any_text_is_a_condition_or_a_mistake_and_never_takes_long() -> None:
    writer = Writer(f"{SEED}/harm")
    vocabulary = Vocabulary(STATES, {"git": TYPES})
    valid = 0
    for number in range(CONDITIONS):
        text = damaged(writer) if number % 2 else random_text(writer.chance)
        start = time.process_time()
        condition = Condition(when=text)
        for mistake in mistakes_in(condition, vocabulary):
            assert 1 <= mistake.line <= text.count("\n") + 1, text
            assert 1 <= mistake.column <= len(text) + 1, text
        valid += not condition.judge(SNAPSHOTS[0]).reason.startswith("its condition is invalid")
        assert time.process_time() - start < PATIENCE, text
    assert valid > CONDITIONS // 100


ALPHABET = "abginrtsx019._-'\"\\()[]{}<>=!&|+*/%?:,;#@$^~` \t\n\r\x00\x1b\x7f\x9f\u2028\ud800é😀"
PIECES = (
    *("&&", "||", "==", "in", "has(", "size(", "state(", "matchPath("),
    *("git.branch", "'x'", "[", "]", "(", ")"),
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
