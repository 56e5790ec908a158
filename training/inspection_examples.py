"""Writes the sentences of the inspection's network: `inspection_examples.py DATA LINEAR OUT`.

They come from the sources of `inspection_model.py`, as the network reads them: with the tool's name and
purpose and the sentence before. `LINEAR` holds the linear models that `inspection_model.py --each` fitted:
sentences of sets and real servers are scored by the one that has not seen them. The sets that only measure
are in it, too, marked as such: their scores are for choosing thresholds, and no fit uses them.
"""

import argparse
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from inspection_model import FOLDS, LEFT_OUT, ROOT, SAID, SEED, TRAIN, fold_of, plain, read, sets
from inspection_origins import DRAWN, NEVER, POOL, REAL, SET, WRITTEN
from inspection_sentences import Names, Writer, lines
from remit.decision.tools import Definition
from remit.inspection.definition_file import read_definitions
from remit.inspection.inspector import is_prose, spoken
from remit.inspection.passages import passages
from remit.inspection.rules.hidden_text import revealed
from remit.inspection.sentence_models.linear_model import SentenceModel, parse_weights, sentence_model
from remit.inspection.sentence_models.sentence_context import SentenceInContext, in_context
from remit.inspection.sentence_models.sentence_network import END, START
from remit.inspection.sentence_models.sentence_words import home_of, words_of
from remit.inspection.surroundings import Surroundings
from remit.inspection.tool_mentions import InspectedDefinition
from remit.inspection.vocabulary.sentences import is_in_another_language, parts
from remit.text.wordpiece import PIECES, UNKNOWN, WordPiece

VOCABULARY = ROOT / "src/remit/search/embeddings/data/vocabulary.txt"
MEASURED = ("fifth_definitions", "sixth_definitions", "seventh_definitions", "eighth_definitions")
IN_POOL = -6.5  # least score by the linear model, which has seen these tools
SURELY, HARDLY = -1.0, -3.0  # linear scores of an unmarked attack's sentences
ATTACKS, COMPOSED, HARMLESS = 4000, 800, 3000  # sentences drawn from templates
FREQUENT = range(1996, 8000)  # BERT's most frequent words
FEWEST = 2  # sentences of another piece


class Heard(NamedTuple):
    """A sentence of a definition."""

    place: str
    at: int
    text: str
    score: float
    context: SentenceInContext


class NetworkExample(NamedTuple):
    """A sentence, where it comes from, and in which fold it is left out."""

    context: SentenceInContext
    label: int  # 1: an attack; 0: harmless; -1: unknown
    score: float
    origin: int
    tool: int
    fold: int = -1


def heard(tool: Definition, others: Surroundings, model: SentenceModel) -> Iterator[Heard]:
    """The English sentences of a definition, with their linear scores."""
    texts = passages(tool)
    values = frozenset(each.text for each in texts if not is_prose(each))
    home = home_of(InspectedDefinition(definition=tool, others=others, values=values))
    description = parts(revealed(tool.description or ""))
    for passage in filter(None, map(spoken, texts)):
        said = parts(revealed(passage.text))
        for at, part in enumerate(said):
            words = words_of(part, home)
            if len(words) > 2 and not is_in_another_language(part):
                context = in_context(said, at, passage.place, description, home)
                yield Heard(passage.place, at, part, model.score(words, home), context)


class Examples:
    """Gathers the examples, and the tools that they belong to."""

    def __init__(self, linear: Path) -> None:
        texts = [(linear / f"linear_{fold}.txt").read_text(encoding="utf-8") for fold in range(FOLDS)]
        self.models = [*map(parse_weights, texts), sentence_model()]  # the last one for what is in no fold
        self.found: list[NetworkExample] = []
        self.tools: list[tuple[str, str, bool]] = []  # set, id or server, is an attack

    def tool(self, name: str, who: str, is_attack: bool) -> int:
        self.tools.append((name, who, is_attack))
        return len(self.tools) - 1

    def add_harmless(
        self, name: str, tools: Sequence[Definition], others: Surroundings, origin: int, fold: int
    ) -> None:
        for tool in tools:
            at = self.tool(name, tool.server or "", False)
            for each in heard(tool, others, self.models[fold]):
                if origin == REAL or each.score >= IN_POOL:
                    self.found.append(NetworkExample(each.context, 0, each.score, origin, at, fold))

    def add_pool(self, path: Path, name: str) -> None:
        by_server: dict[str | None, list[Definition]] = defaultdict(list)
        for each in read(path, name):
            by_server[each.server].append(each)
        for listed in by_server.values():
            self.add_harmless(name, listed, Surroundings.of(listed), POOL, -1)

    def add_set(self, path: Path, origin: int, fold: int) -> None:
        """The sentences of a set: of an attack those that its author marked, or those that sound like one."""
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            is_attack = row["label"] == "attack"
            ((_, tool),) = read_definitions(line, path.stem, path.stem)
            at = self.tool(path.stem, str(row.get("id", "")), is_attack)
            said = list(heard(tool, Surroundings.of([tool]), self.models[fold]))
            for each, label in zip(said, labels(row, said), strict=True):
                self.found.append(NetworkExample(each.context, label, each.score, origin, at, fold))

    def add_written(self, data: Path) -> None:
        """Sentences written by hand or drawn from templates, each in the mouth of some tool."""
        writer, draw = Writer(Names.of(data), SEED), random.Random(SEED)
        mouths = [each.context for each in self.found if each.origin == POOL]
        alone, sibling = (Definition(name=name, server="s", tool=name) for name in ("tool", "sibling"))

        def told(text: str, is_attack: bool, origin: int, own: str | None = None) -> None:
            beside = [alone, sibling, *([Definition(name=own, server="s", tool=own)] if own else [])]
            home = home_of(InspectedDefinition(definition=alone, others=Surroundings.of(beside)))
            for part in parts(text):
                words, mouth = words_of(part, home), draw.choice(mouths)
                said = in_context([part], 0, "description", (), home).said
                context = SentenceInContext(mouth.tool, "", mouth.purpose, said)
                if len(words) > 2:
                    score = sentence_model().score(words, home)
                    self.found.append(NetworkExample(context, int(is_attack), score, origin, -1))

        for text in writer.attacks(ATTACKS, COMPOSED):
            told(text, True, DRAWN)
        for text in lines("attacks.txt"):
            told(text, True, WRITTEN)
        for text, own in writer.harmless(HARMLESS):
            told(text, False, DRAWN, own)
        for text in lines("harmless.txt"):
            told(text, False, WRITTEN)


def labels(row: dict[str, object], said: Sequence[Heard]) -> Iterator[int]:
    """The label of each sentence; of an unmarked attack, those that are plainly good or bad."""
    marked = [plain(text) for text in row.get("bad", ())]  # type: ignore[attr-defined]
    most = max((each.score for each in said), default=0.0)
    is_long = sum(each.place == "description" for each in said) > 1
    for each in said:
        text = plain(each.text)
        if row["label"] != "attack":
            yield 0
        elif marked:
            yield int(any(text and (text in bad or bad in text) for bad in marked))
        elif row["kind"] not in SAID:
            yield -1
        elif is_long and each.place == "description" and each.at == 0:
            yield 0 if each.score < HARDLY else -1
        else:
            yield 1 if each.score >= SURELY or each.score == most else -1


def examples(data: Path, linear: Path) -> Examples:
    """All sentences."""
    found = Examples(linear)
    for name in TRAIN:
        found.add_pool(data / f"tool-retrieval/train/{name}/tools.jsonl", name)
    found.add_written(data)
    for name, path in sets(data).items():
        found.add_set(path, SET, LEFT_OUT[name])
    for name in MEASURED:
        found.add_set(ROOT / f"tests/inspection/{name}.jsonl", NEVER, -1)
    real = {path.stem: read(path, path.stem) for path in sorted((data / "real-mcp-tools").glob("*.json"))}
    everyone = Surroundings.of(each for listed in real.values() for each in listed)
    for name, listed in real.items():
        found.add_harmless("real-mcp-tools", listed, everyone, REAL, fold_of(name, list(real)))
    return found


def kept_pieces(found: Sequence[NetworkExample], entries: Sequence[str]) -> list[int]:
    """The ids of the pieces that are kept, the marks where WordPiece expects them."""
    whole = WordPiece(entries)
    texts = {" ".join((each.context.tool, each.context.said)) for each in found if each.origin != NEVER}
    counts = Counter(piece for text in texts for piece in set(whole(text)))
    kept = {piece for piece, count in counts.items() if count >= FEWEST} | set(FREQUENT)
    kept |= {at for at, each in enumerate(entries) if each.isascii() and len(each.removeprefix("##")) == 1}
    rest, marks = iter(sorted(kept - {0, UNKNOWN, START, END})), (UNKNOWN, START, END)
    size = len(kept - {0, *marks}) + 1 + len(marks)
    return [0, *(at if at in marks else next(rest) for at in range(1, size))]


def packed(found: Examples) -> dict[str, np.ndarray]:
    """The examples as arrays: texts as pieces, each once, and a row for each sentence."""
    entries = VOCABULARY.read_text(encoding="utf-8").split("\n")[:PIECES]
    kept = kept_pieces(found.found, entries)
    pieces = WordPiece([entries[at] for at in kept])
    texts = list(dict.fromkeys(text for each in found.found for text in each.context))
    index = {text: at for at, text in enumerate(texts)}
    cut = [pieces(text) for text in texts]
    columns = {
        "contexts": np.array([[index[text] for text in each.context] for each in found.found], np.int32),
        "labels": np.array([each.label for each in found.found], np.int8),
        "scores": np.array([each.score for each in found.found], np.float32),
        "origins": np.array([each.origin for each in found.found], np.int8),
        "tools": np.array([each.tool for each in found.found], np.int32),
        "folds": np.array([each.fold for each in found.found], np.int8),
    }
    return columns | {
        "kept": np.array(kept, np.int32),
        "entries": np.frombuffer("\n".join(entries[at] for at in kept).encode(), np.uint8),
        "pieces": np.array([each for row in cut for each in row], np.uint16),
        "starts": np.cumsum([0, *map(len, cut)]).astype(np.int32),
        "about": np.frombuffer(json.dumps(found.tools).encode(), np.uint8),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("linear", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    arrays = packed(examples(options.data, options.linear))
    np.savez_compressed(options.out, **arrays)
    counts = Counter(zip(arrays["origins"].tolist(), arrays["labels"].tolist(), strict=True))
    print(f"{len(arrays['labels']):,} sentences, {len(arrays['kept']):,} pieces: {dict(counts)}")


if __name__ == "__main__":
    main()
