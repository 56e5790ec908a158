"""Fits the weights of the rules of an inspection: `inspection.py DATA [--without SET]`.

A definition counts by its most suspicious pair of sentences. Attacks are `inspection_attacks.txt`, our own
set in `tests/inspection` and `DATA/tool-attacks/mcpproxy.jsonl` (smart-mcp-proxy/mcpproxy-go, MIT); tools
without attacks are those of `DATA/tool-retrieval/train` (TheAgentArk/Toucan, docker/mcp-registry and
ComposioHQ/composio, all MIT). `--without` leaves a set of attacks out, to measure on it.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from remit.decision.tools import Definition
from remit.inspection.definition_file import read_definitions
from remit.inspection.inspector import TEXT_RULES, is_prose, read
from remit.inspection.passages import passages
from remit.inspection.rules.combined_signs import WINDOW, rules_of
from remit.inspection.surroundings import Surroundings
from remit.inspection.tool_mentions import InspectedDefinition

NAMES = [rule.name for rule in TEXT_RULES]
HARMLESS = ("toucan-smithery-tools", "docker-mcp-registry-tools", "composio-mock-tools")
NOT_SAID = {
    "unicode_smuggling",
    "decoded_payload",
    "hidden",
    "preference",
    "imitate",
}  # other rules find these
CAPS = {  # real servers address the model, too, and demand that something is done first
    "model-address": 2.0,
    "demand-first": 1.5,
    "conditional-order": 1.2,
    "unknown-tool": 3.0,
    "lasting-order": 3.0,
    "quoted-override": 0.0,
    "self-praise": 0.0,
}
MOST, LEAST_OWN = 5.0, -1.5
ROUNDS, STEPS, RATE, DECAY = 6, 400, 0.05, 5e-5
ROOT = Path(__file__).parent.parent

Window = frozenset[str]


def windows(definition: Definition, others: Surroundings) -> list[Window]:
    """The rules of each pair of neighbors."""
    texts = passages(definition)
    values = frozenset(text.text for text in texts if not is_prose(text))
    subject = InspectedDefinition(definition=definition, others=others, values=values)
    found: set[Window] = set()
    for text in filter(is_prose, texts):
        heard = read(text, subject)
        spans = (heard[at : at + WINDOW] for at in range(len(heard)))
        found |= {frozenset(rule.name for rule in rules_of(span)) for span in spans}
    return list(found) or [frozenset()]


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def lines() -> Iterable[Definition]:
    text = (ROOT / "training/inspection_attacks.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        yield Definition(name="tool", server="s", tool="tool", description=f"Adds two numbers. {line}")


def labeled(path: Path) -> tuple[list[list[Window]], list[list[Window]]]:
    """The attacks and the hard negatives of a set, each by itself."""
    found: dict[object, list[list[Window]]] = {"attack": [], "benign": []}
    for row in rows(path):
        if row["kind"] not in NOT_SAID:
            ((_, definition),) = read_definitions(json.dumps(row), str(path))
            found[row["label"]].append(windows(definition, Surroundings.of([definition])))
    return found["attack"], found["benign"]


def vector(window: Window) -> NDArray[np.float64]:
    return np.array([name in window for name in NAMES], dtype=float)


def fit(attacks: Sequence[Sequence[Window]], harmless: Sequence[Sequence[Window]]) -> NDArray[np.float64]:
    """Logistic regression, in rounds: each definition counts by the window that weighs most now."""
    weights, bias = np.full(len(NAMES), 0.5), -3.0
    most = np.array([CAPS.get(name, MOST) for name in NAMES])
    least = np.array([LEAST_OWN if name == "own-tool" else 0.0 for name in NAMES])
    most[NAMES.index("own-tool")] = 0.0

    def heaviest(choices: Sequence[Window]) -> Window:
        return max(choices, key=lambda window: (float(vector(window) @ weights), sorted(window)))

    for _ in range(ROUNDS):
        bad, good = (Counter(map(heaviest, part)) for part in (attacks, harmless))
        features = np.array([vector(window) for part in (bad, good) for window in part])
        labels = np.array([1.0] * len(bad) + [0.0] * len(good))
        share = np.concatenate([np.array(list(part.values())) / part.total() / 2 for part in (bad, good)])
        mean, square = np.zeros(len(NAMES) + 1), np.zeros(len(NAMES) + 1)
        for step in range(1, STEPS + 1):
            error = share * (1 / (1 + np.exp(-(features @ weights + bias))) - labels)
            slope = np.append(features.T @ error + DECAY * weights, error.sum())
            mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
            move = RATE * mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.999**step)) + 1e-9)
            weights, bias = np.clip(weights - move[:-1], least, most), bias - move[-1]
    return weights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--without", choices=("own", "mcpproxy"))
    options = parser.parse_args()
    sets = {
        "own": ROOT / "tests/inspection/definitions.jsonl",
        "mcpproxy": options.data / "tool-attacks/mcpproxy.jsonl",
    }
    sibling = Definition(name="sibling", server="s")
    attacks = [windows(each, Surroundings.of([each, sibling])) for each in lines()]
    harmless: list[list[Window]] = []
    for name, path in sets.items():
        if name != options.without:
            bad, good = labeled(path)
            attacks, harmless = attacks + bad, harmless + good
    for name in HARMLESS:
        path = options.data / "tool-retrieval/train" / name / "tools.jsonl"
        tools = [each.definition for each in read_definitions(path.read_text(encoding="utf-8"), name)]
        others = Surroundings.of(tools)
        harmless += [windows(tool, others) for tool in tools]
    fitted = zip(NAMES, fit(attacks, harmless), strict=True)
    for name, weight in sorted(fitted, key=lambda pair: -pair[1]):
        print(f'    "{name}": {weight:.1f},')


if __name__ == "__main__":
    main()
