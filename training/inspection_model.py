"""Fits the sentence model of an inspection: `inspection_model.py DATA [--each FOLDER]`.

Attacks and harmless sentences come from `inspection_corpus` (ours), from our sets in `tests/inspection`, and
from `DATA/tool-attacks/mcpproxy.jsonl` (smart-mcp-proxy/mcpproxy-go, MIT); harmless ones also from
`DATA/tool-retrieval/train` (MIT and Apache-2.0) and the tools of `DATA/real-mcp-tools`. `--each` also fits it
without each set and a third of the real servers, to measure on them. Needs numpy, scipy and scikit-learn.
"""

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from inspection_sentences import Names, Writer, lines
from remit.decision.tools import Definition
from remit.inspection.definition_file import read_definitions
from remit.inspection.hidden_text import revealed
from remit.inspection.inspector import is_prose
from remit.inspection.passages import passages
from remit.inspection.sentence_features import features
from remit.inspection.sentence_words import home_of, words_of
from remit.inspection.sentences import parts
from remit.inspection.surroundings import Surroundings
from remit.inspection.tool_mentions import InspectedDefinition

ROOT = Path(__file__).parent.parent
WEIGHTS = ROOT / "src/remit/inspection/data/sentence_weights.txt"
TRAIN = ("toucan-smithery-tools", "docker-mcp-registry-tools", "composio-mock-tools", "bfcl-v4",
         "stabletoolbench", "toolalpaca", "traject-bench", "metatool")  # fmt: skip
SAID = frozenset(  # kinds of attacks that are sentences
    [
        "instruct",
        "other_tools",
        "demand",
        "late",
        "param",
        "phrase_injection",
        "prompt_injection",
        "tool_poisoning",
        "shadowing",
    ]
)
OWN = (
    "definitions",
    "late_definitions",
    "third_definitions",
    "fourth_definitions",
)  # the fifth is for measuring only
FOLDS = 3
LEFT_OUT = {
    name: at % FOLDS for at, name in enumerate(("definitions", "late_definitions", "mcpproxy", *OWN[2:]))
}
ROUNDS, STRENGTH, SEED = 3, 0.05, 11
HARD, EASY = (
    4.0,
    0.4,
)  # in each round: the weight of harmless sentences near an attack, of attacks without signs
WRITTEN, SETS, REAL = 12.0, 15.0, 3.0  # weights of sentences written by hand, of sets, and of real tools
FEWEST = {True: 12, False: 8}  # sentences of a word, and of another feature
LEAST = 3  # hundredths: a smaller weight is left out


class Example(NamedTuple):
    features: frozenset[str]
    is_attack: bool
    weight: float = 1.0


def sentences_of(definition: Definition, others: Surroundings) -> Iterator[tuple[str, int, frozenset[str]]]:
    """The place, position and features of each sentence."""
    texts = passages(definition)
    values = frozenset(each.text for each in texts if not is_prose(each))
    home = home_of(InspectedDefinition(definition=definition, others=others, values=values))
    for passage in filter(is_prose, texts):
        for at, part in enumerate(parts(revealed(passage.text))):
            words = words_of(part, home)
            if len(words) > 2:
                yield passage.place, at, frozenset(features(words, home.purpose))


def harmless_tools(tools: Sequence[Definition], weight: float = 1.0) -> Iterator[Example]:
    by_server: dict[str | None, list[Definition]] = {}
    for each in tools:
        by_server.setdefault(each.server, []).append(each)
    for listed in by_server.values():
        others = Surroundings.of(listed)
        for tool in listed:
            for _, _, found in sentences_of(tool, others):
                yield Example(found, False, weight)


def labeled(path: Path) -> Iterator[Example]:
    """The sentences of a set, without the first one of an attack, which describes the tool."""
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        is_attack = row["label"] == "attack"
        if is_attack and row["kind"] not in SAID:
            continue
        ((_, tool),) = read_definitions(line, path.stem, path.stem)
        said = list(sentences_of(tool, Surroundings.of([tool])))
        is_long = sum(place == "description" for place, _, _ in said) > 1
        for place, at, found in said:
            if not (is_attack and is_long and place == "description" and at == 0):
                yield Example(found, is_attack, SETS)


def written(names: Names, purposes: Sequence[frozenset[str]]) -> Iterator[Example]:
    writer, draw = Writer(names, SEED), random.Random(SEED)
    alone = Definition(name="tool", server="s", tool="tool")
    sibling = Definition(name="sibling", server="s", tool="sibling")

    def found(text: str, own: str | None = None) -> Iterator[frozenset[str]]:
        beside = [alone, sibling] + ([Definition(name=own, server="s", tool=own)] if own else [])
        subject = InspectedDefinition(definition=alone, others=Surroundings.of(beside), values=frozenset())
        home = home_of(subject)
        for part in parts(text):
            words = words_of(part, home)
            if len(words) > 2:
                yield frozenset(features(words, draw.choice(purposes)))

    for text in writer.attacks(40_000, 14_000):
        yield from (Example(each, True) for each in found(text))
    for text in lines("attacks.txt"):
        yield from (Example(each, True, WRITTEN) for each in found(text))
    for text, own in writer.harmless(45_000):
        yield from (Example(each, False) for each in found(text, own))
    for text in lines("harmless.txt"):
        yield from (Example(each, False, WRITTEN) for each in found(text))


def fold_of(server: str, servers: Sequence[str]) -> int:
    shuffled = sorted(servers)
    random.Random(1).shuffle(shuffled)
    return shuffled.index(server) % FOLDS


class Source(NamedTuple):
    """Where examples come from, as far as they can be left out."""

    examples: list[Example]
    name: str | None = None  # of a set
    fold: int | None = None  # of a real server


def sources(data: Path) -> Iterator[Source]:
    pools = [read(data / f"tool-retrieval/train/{name}/tools.jsonl", name) for name in TRAIN]
    for pool in pools:
        yield Source(list(harmless_tools(pool)))
    some = random.Random(SEED).sample(pools[0], 3000)
    purposes = [
        home_of(InspectedDefinition(definition=tool, others=Surroundings.of([tool]))).purpose for tool in some
    ]
    yield Source(list(written(Names.of(data), purposes)))
    real = {path.stem: path for path in sorted((data / "real-mcp-tools").glob("*.json"))}
    for name, path in real.items():
        yield Source(list(harmless_tools(read(path, name), REAL)), fold=fold_of(name, list(real)))
    for name, path in sets(data).items():
        yield Source(list(labeled(path)), name)


def left(found: Iterable[Source], without: str, fold: int) -> Iterator[Example]:
    """The examples without a set and a third of the real servers."""
    for source in found:
        if source.name != without and source.fold != fold:
            yield from source.examples


def sets(data: Path) -> dict[str, Path]:
    own = {name: ROOT / f"tests/inspection/{name}.jsonl" for name in OWN}
    return own | {"mcpproxy": data / "tool-attacks/mcpproxy.jsonl"}


def read(path: Path, server: str) -> list[Definition]:
    return [each.definition for each in read_definitions(path.read_text(encoding="utf-8"), str(path), server)]


def fit(found: Iterable[Example]) -> dict[str, int]:
    """Logistic regression, in rounds that put weight on harmless sentences that are hard to tell."""
    unique: dict[tuple[frozenset[str], bool], float] = {}
    for each in found:
        key = (each.features, each.is_attack)
        unique[key] = max(unique.get(key, 0.0), each.weight)
    counts = Counter(feature for said, _ in unique for feature in said)
    known = [each for each, count in counts.items() if count >= FEWEST[each.startswith("w:")]]
    index = {each: at for at, each in enumerate(sorted(known))}
    columns = [[index[each] for each in said if each in index] for said, _ in unique]
    starts = np.cumsum([0, *map(len, columns)])
    flat = np.array([each for row in columns for each in row])
    matrix = sp.csr_matrix((np.ones(len(flat), np.float32), flat, starts), shape=(len(unique), len(index)))
    labels = np.array([is_attack for _, is_attack in unique], dtype=float)
    weights = np.array(list(unique.values()))
    for _ in range(ROUNDS):
        model = LogisticRegression(C=STRENGTH, max_iter=50, tol=1e-3).fit(
            matrix, labels, sample_weight=weights
        )
        score = matrix @ model.coef_[0] + model.intercept_[0]
        weights = weights * np.where((labels == 0) & (score > -1), HARD, 1.0)
        weights = weights * np.where((labels == 1) & (score < -2), EASY, 1.0)
    fitted = {each: round(100 * float(model.coef_[0][at])) for each, at in index.items()}
    kept = {each: weight for each, weight in fitted.items() if abs(weight) >= LEAST}
    return {"": round(100 * float(model.intercept_[0])), **kept}


def write(fitted: Mapping[str, int], path: Path) -> None:
    text = "".join(f"{each}\t{weight}\n" for each, weight in fitted.items())
    path.write_text(text, encoding="utf-8")
    print(f"{path.name}: {len(fitted)} weights", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--each", type=Path, help="also fit without each set, for `bench/inspection.py`")
    options = parser.parse_args()
    found = list(sources(options.data))
    write(fit(each for source in found for each in source.examples), WEIGHTS)
    for name, fold in LEFT_OUT.items() if options.each else ():
        write(fit(left(found, name, fold)), options.each / f"{name}.txt")


if __name__ == "__main__":
    main()
