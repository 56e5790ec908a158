"""The sentences that the inspection's network is trained on, as it reads them.

They come from the sources of `inspection_model.py`, except the tools of `DATA/real-mcp-tools`: on these, the
network is measured, and its threshold chosen. Harmless ones count only if the linear model is in doubt about
them: the network never reads others.
"""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from inspection_model import LEFT_OUT, SAID, SEED, TRAIN, plain, read, sets
from inspection_sentences import CORPUS, Names, Writer, lines
from remit.decision.tools import Definition
from remit.inspection.definition_file import read_definitions
from remit.inspection.hidden_text import revealed
from remit.inspection.inspector import is_prose, spoken
from remit.inspection.passages import passages
from remit.inspection.sentence_model import sentence_model
from remit.inspection.sentence_words import home_of, plain_text, words_of
from remit.inspection.sentences import is_in_another_language, parts
from remit.inspection.surroundings import Surroundings
from remit.inspection.tool_mentions import InspectedDefinition

IN_POOL, IN_SET = -4.1, -5.0  # least score by the linear model, which has seen them
ATTACKS, COMPOSED, HARMLESS = 1100, 300, 900  # sentences drawn from templates
DEMANDS_FOLD = 2  # in which `tool_demands`, which the linear model does not know, is left out
DRAWN = 0.5  # weight of such a sentence


class NetworkExample(NamedTuple):
    """A sentence as the network reads it, and in which third of the sets it is left out."""

    text: str
    is_attack: bool
    weight: float = 1.0
    fold: int | None = None


class Heard(NamedTuple):
    """A sentence of a definition."""

    place: str
    at: int
    part: str
    score: float
    text: str


def heard(tool: Definition, others: Surroundings) -> Iterator[Heard]:
    """The English sentences of a definition, with their linear scores."""
    texts = passages(tool)
    values = frozenset(each.text for each in texts if not is_prose(each))
    home = home_of(InspectedDefinition(definition=tool, others=others, values=values))
    for passage in filter(None, map(spoken, texts)):
        for at, part in enumerate(parts(revealed(passage.text))):
            words = words_of(part, home)
            score = sentence_model().score(words, home)
            if len(words) > 2 and not is_in_another_language(part):
                yield Heard(passage.place, at, part, score, plain_text(part, home))


def harmless(tools: Sequence[Definition]) -> Iterator[NetworkExample]:
    by_server: dict[str | None, list[Definition]] = {}
    for each in tools:
        by_server.setdefault(each.server, []).append(each)
    for listed in by_server.values():
        others = Surroundings.of(listed)
        found = (each for tool in listed for each in heard(tool, others))
        yield from (NetworkExample(each.text, False) for each in found if each.score >= IN_POOL)


def labeled(path: Path, fold: int) -> Iterator[NetworkExample]:
    """The sentences of a set: of an attack those that its author marked, or all but the first."""
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        is_attack = row["label"] == "attack"
        if is_attack and row["kind"] not in SAID and "bad" not in row:
            continue
        ((_, tool),) = read_definitions(line, path.stem, path.stem)
        said = list(heard(tool, Surroundings.of([tool])))
        is_long = sum(each.place == "description" for each in said) > 1
        marked = [plain(text) for text in row.get("bad", ())]
        for each in said:
            text = plain(each.part)
            if marked:
                is_bad = any(text in bad or bad in text for bad in marked)
            else:
                is_bad = is_attack and not (is_long and each.place == "description" and each.at == 0)
            if is_bad or each.score >= IN_SET:
                yield NetworkExample(each.text, is_bad, fold=fold)


def drawn(data: Path, tools: Sequence[str]) -> Iterator[NetworkExample]:
    """Sentences written by hand or drawn from templates, each in the mouth of some tool."""
    writer, draw = Writer(Names.of(data), SEED), random.Random(SEED)
    alone, sibling = (Definition(name=name, server="s", tool=name) for name in ("tool", "sibling"))

    def told(text: str, is_attack: bool, weight: float, own: str | None = None) -> Iterator[NetworkExample]:
        beside = [alone, sibling, *([Definition(name=own, server="s", tool=own)] if own else [])]
        home = home_of(InspectedDefinition(definition=alone, others=Surroundings.of(beside)))
        for part in parts(text):
            _, colon, said = plain_text(part, home).partition(" : ")
            yield NetworkExample(f"{draw.choice(tools)}{colon}{said}", is_attack, weight)

    for text in writer.attacks(ATTACKS, COMPOSED):
        yield from told(text, True, DRAWN)
    for text in lines("attacks.txt"):
        yield from told(text, True, 1.0)
    for text, own in writer.harmless(HARMLESS):
        yield from told(text, False, DRAWN, own)
    for text in lines("harmless.txt"):
        yield from told(text, False, 1.0)


def examples(data: Path) -> list[NetworkExample]:
    """All sentences, each once."""
    found: list[NetworkExample] = []
    for name in TRAIN:
        found += harmless(read(data / f"tool-retrieval/train/{name}/tools.jsonl", name))
    found += drawn(data, [each.text.partition(" : ")[0] for each in found])
    for name, path in sets(data).items():
        found += labeled(path, LEFT_OUT[name])
    found += labeled(CORPUS / "authors/tool_demands.jsonl", DEMANDS_FOLD)
    return list({(each.text.partition(" : ")[2], each.is_attack): each for each in found}.values())
