"""Fits the sentence model of an inspection: `inspection_model.py DATA [--each FOLDER]`.

Attacks and harmless sentences come from `inspection_corpus` (ours), from our sets in `tests/inspection`, and
from `DATA/tool-attacks/mcpproxy.jsonl` (smart-mcp-proxy/mcpproxy-go, MIT); harmless ones also from
`DATA/tool-retrieval/train` (MIT and Apache-2.0) and the tools of `DATA/real-mcp-tools`. `--each` also fits it
without each third of the sets and of the real servers, to measure on them. Needs numpy and numba.
"""

import argparse
import json
import random
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from zlib import compress

import numpy as np

from inspection_fit import fitted as fit_weights
from inspection_sentences import CORPUS, Names, Writer, lines
from remit.decision.tools import Definition
from remit.inspection.definition_file import read_definitions
from remit.inspection.inspector import is_prose
from remit.inspection.passages import passages
from remit.inspection.rules.hidden_text import revealed
from remit.inspection.sentence_models.hashed_features import SIZE, pair_slot, pairs_of, piece_slots
from remit.inspection.sentence_models.linear_model import FINE, PAIRS, PIECES
from remit.inspection.sentence_models.sentence_features import features
from remit.inspection.sentence_models.sentence_words import home_of, words_of
from remit.inspection.sentence_models.word_roles import is_plain
from remit.inspection.surroundings import Surroundings
from remit.inspection.tool_mentions import InspectedDefinition
from remit.inspection.vocabulary.sentences import parts

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
OWN = ("definitions", "late_definitions", "third_definitions", "fourth_definitions")  # the rest only measures
AUTHORS = (  # in `inspection_corpus/authors`
    "documentation_voices", "other_tools", "single_sentences", "tool_demands",
    "plain_notes", "many_registers", "poisoning_scenarios",
)  # fmt: skip
FOLDS = 3
LEFT_OUT = {  # the fold in which a set is left out, together with a third of the real servers
    **dict.fromkeys(("definitions", "documentation_voices", "plain_notes"), 0),
    **dict.fromkeys(
        ("late_definitions", "third_definitions", "other_tools", "tool_demands", "many_registers"), 1
    ),
    **dict.fromkeys(("fourth_definitions", "mcpproxy", "single_sentences", "poisoning_scenarios"), 2),
}
STRENGTH, SEED = 0.05, 11
WRITTEN, SETS, REAL = 12.0, 15.0, 3.0  # weights of sentences written by hand, of sets, and of real tools
FEWEST = 3  # sentences of a feature
LEAST = 3  # hundredths: a smaller weight is left out


class Said(NamedTuple):
    """What the model sees of a sentence."""

    words: tuple[str, ...]
    features: frozenset[str]

    @classmethod
    def of(cls, words: Sequence[str], purpose: frozenset[str]) -> "Said":
        return cls(tuple(words), frozenset(features(words, purpose)))


class Example(NamedTuple):
    said: Said
    is_attack: bool
    weight: float = 1.0


def sentences_of(definition: Definition, others: Surroundings) -> Iterator[tuple[str, int, str, Said]]:
    """The place, position and text of each sentence, and what the model sees of it."""
    texts = passages(definition)
    values = frozenset(each.text for each in texts if not is_prose(each))
    home = home_of(InspectedDefinition(definition=definition, others=others, values=values))
    for passage in filter(is_prose, texts):
        for at, part in enumerate(parts(revealed(passage.text))):
            words = words_of(part, home)
            if len(words) > 2 and not is_plain(words):  # others are never scored
                yield passage.place, at, part, Said.of(words, home.purpose)


def harmless_tools(tools: Sequence[Definition], weight: float = 1.0) -> Iterator[Example]:
    by_server: dict[str | None, list[Definition]] = {}
    for each in tools:
        by_server.setdefault(each.server, []).append(each)
    for listed in by_server.values():
        others = Surroundings.of(listed)
        for tool in listed:
            for _, _, _, found in sentences_of(tool, others):
                yield Example(found, False, weight)


def labeled(path: Path) -> Iterator[Example]:
    """The sentences of a set: of an attack those that its author marked, or all but the first."""
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        is_attack = row["label"] == "attack"
        if is_attack and row["kind"] not in SAID and "bad" not in row:
            continue
        ((_, tool),) = read_definitions(line, path.stem, path.stem)
        said = list(sentences_of(tool, Surroundings.of([tool])))
        is_long = sum(place == "description" for place, _, _, _ in said) > 1
        marked = [plain(text) for text in row.get("bad", ())]
        for place, at, text, found in said:
            if not is_attack:
                yield Example(found, False, SETS)
            elif marked:
                if any(plain(text) in bad or bad in plain(text) for bad in marked):
                    yield Example(found, True, SETS)
            elif not (is_long and place == "description" and at == 0):
                yield Example(found, True, SETS)


def plain(text: str) -> str:
    """A text as words only, to be compared."""
    return " ".join(re.sub(r"\W+", " ", text.lower()).split())


def written(names: Names, purposes: Sequence[frozenset[str]]) -> Iterator[Example]:
    writer, draw = Writer(names, SEED), random.Random(SEED)
    alone = Definition(name="tool", server="s", tool="tool")
    sibling = Definition(name="sibling", server="s", tool="sibling")

    def found(text: str, own: str | None = None) -> Iterator[Said]:
        beside = [alone, sibling] + ([Definition(name=own, server="s", tool=own)] if own else [])
        subject = InspectedDefinition(definition=alone, others=Surroundings.of(beside), values=frozenset())
        home = home_of(subject)
        for part in parts(text):
            words = words_of(part, home)
            if len(words) > 2 and not is_plain(words):
                yield Said.of(words, draw.choice(purposes))

    for text in writer.attacks(14_000, 5_000):
        yield from (Example(each, True) for each in found(text))
    for text in lines("attacks.txt"):
        yield from (Example(each, True, WRITTEN) for each in found(text))
    for text, own in writer.harmless(16_000):
        yield from (Example(each, False) for each in found(text, own))
    for text in lines("harmless.txt"):
        yield from (Example(each, False, WRITTEN) for each in found(text))


def fold_of(server: str, servers: Sequence[str]) -> int:
    shuffled = sorted(servers)
    random.Random(1).shuffle(shuffled)
    return shuffled.index(server) % FOLDS


class Source(NamedTuple):
    """Where examples come from, and in which fold they are left out."""

    examples: list[Example]
    fold: int | None = None


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
        yield Source(list(harmless_tools(read(path, name), REAL)), fold_of(name, list(real)))
    for name, path in sets(data).items():
        yield Source(list(labeled(path)), LEFT_OUT[name])


def left(found: Iterable[Source], fold: int) -> Iterator[Example]:
    """The examples without a third of the sets and of the real servers."""
    return (each for source in found if source.fold != fold for each in source.examples)


def sets(data: Path) -> dict[str, Path]:
    own = {name: ROOT / f"tests/inspection/{name}.jsonl" for name in OWN}
    own |= {name: CORPUS / f"authors/{name}.jsonl" for name in AUTHORS}
    return own | {"mcpproxy": data / "tool-attacks/mcpproxy.jsonl"}


def read(path: Path, server: str) -> list[Definition]:
    return [each.definition for each in read_definitions(path.read_text(encoding="utf-8"), str(path), server)]


class Fitted(NamedTuple):
    """The weights of features in hundredths, and those of the hashed tables."""

    weights: dict[str, int]
    pairs: bytes
    pieces: bytes


def hashed(words: Sequence[str]) -> list[int]:
    """The slots of a sentence: of its pairs, then of its pieces."""
    pieces = (SIZE + at for word in set(words) for at in piece_slots(word))
    return [*map(pair_slot, set(pairs_of(words))), *pieces]


def fit(found: Iterable[Example]) -> Fitted:
    """Logistic regression over the listed and the hashed features."""
    unique: dict[tuple[Said, bool], float] = {}
    for each in found:
        key = (each.said, each.is_attack)
        unique[key] = max(unique.get(key, 0.0), each.weight)
    counts = Counter(feature for said, _ in unique for feature in said.features)
    index = {each: at for at, each in enumerate(sorted(counts)) if counts[each] >= FEWEST}
    index = {each: 2 * SIZE + at for at, each in enumerate(index)}
    rows = [
        sorted([*hashed(said.words), *(index[each] for each in said.features if each in index)])
        for said, _ in unique
    ]
    starts, columns = np.cumsum([0, *map(len, rows)]), np.array([each for row in rows for each in row])
    labels = np.array([is_attack for _, is_attack in unique], dtype=float)
    costs = STRENGTH * np.array(list(unique.values()))
    weights, bias = fit_weights(starts, columns, labels, costs, 2 * SIZE + len(index), SEED)
    kept = {each: round(100 * float(weights[at])) for each, at in index.items()}
    kept = {each: weight for each, weight in kept.items() if abs(weight) >= LEAST}
    coarse = np.clip(np.round(weights[: 2 * SIZE] / FINE), -127, 127).astype(np.int8)
    return Fitted({"": round(100 * bias), **kept}, coarse[:SIZE].tobytes(), coarse[SIZE:].tobytes())


def write(fitted: Fitted, path: Path) -> None:
    tables = {PAIRS: fitted.pairs, PIECES: fitted.pieces}
    packed = {name: b64encode(compress(table, 9)).decode() for name, table in tables.items()}
    text = "".join(f"{each}\t{weight}\n" for each, weight in (fitted.weights | packed).items())
    path.write_text(text, encoding="utf-8")
    print(f"{path.name}: {len(fitted.weights)} weights, {len(text):,} characters", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--each", type=Path, help="also fit without each third, for `bench/inspection.py`")
    options = parser.parse_args()
    found = list(sources(options.data))
    write(fit(each for source in found for each in source.examples), WEIGHTS)
    for fold in range(FOLDS) if options.each else ():
        write(fit(left(found, fold)), options.each / f"linear_{fold}.txt")


if __name__ == "__main__":
    main()
