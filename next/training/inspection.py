"""Fits the models of the inspection: `inspection.py DATA [--table FILE]`.

Attacks and harmless sentences of many authors, and some drawn from templates, are put into real
definitions: those of `DATA/real-mcp-tools` and `DATA/tool-retrieval/train` (MIT and Apache-2.0). Thresholds
are chosen on real tools whose servers were left out, together with a part of the authors.
`DATA/tool-attacks/msb.jsonl` only measures.
"""

import argparse
import json
import random
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from remit.decision import Definition
from remit.trust.inspection.model import SIZE, Model, features, whole_features
from remit.trust.inspection.passages import Passage, Sentence, passages, sentences
from remit.trust.inspection.signs import Names, plain, reader

HERE = Path(__file__).parent
CORPUS = HERE / "inspection"
WEIGHTS = HERE.parent / "src/remit/trust/inspection/weights.bin"
REAL, TOUCAN = "real-mcp-tools", "toucan-smithery-tools"
POOLS = (TOUCAN, "docker-mcp-registry-tools", "composio-mock-tools", "bfcl-v4", "stabletoolbench",
         "toolalpaca", "traject-bench", "metatool")  # fmt: skip
HOSTS = (REAL, TOUCAN, "docker-mcp-registry-tools")  # whose tools are real
MEASURED = ("mcpproxy", "msb")
NOT_SAID = ("unicode_smuggling", "decoded_payload")  # other checks find these
SEED, FOLDS = 5, 4
NO_FOLD, ONLY_MEASURED = -1, -2
ALONE = 0.1  # share of tools whose server's other tools are unknown
REAL_SHARE = 0.4  # of attacks that are put into tools of `REAL`
COPIES = 3  # of each written text, each in another tool
DRAWN, DOUBLED, HARMLESS_DRAWN = 14_000, 0.25, 8_000  # texts from templates, share of two, harmless ones
WRITTEN_WEIGHT, REAL_WEIGHT = 2.0, 3.0
EPOCHS, AVERAGED, RATE, BATCH = 6, 2, 0.15, 512
DECAY_SENTENCE, DECAY_WHOLE = 2e-5, 2e-4
WHOLE_SHARE = 0.2  # of the definition's score
HIGH, MEDIUM, ORDER = 0.002, 0.01, 0.01  # shares of real tools
SHARES = (0.002, 0.005, 0.01, 0.02)

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]


class Host(NamedTuple):
    """A real definition."""

    definition: Definition
    names: Names
    pool: str
    fold: int  # of its server


class Document(NamedTuple):
    """A definition's sentences, perhaps with a text put in."""

    host: Host
    parts: list[Sentence]
    labels: list[int]  # 1: a sentence of an attack
    author: str
    fold: int  # of its author
    weight: float


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def read_definition(row: dict[str, Any], server: str) -> Definition:
    given: Any = row.get("inputSchema") or row.get("parameters") or {}
    if isinstance(given, list):
        names = (
            name if isinstance(name, str) else str(name.get("name")) for name in cast("list[Any]", given)
        )
        given = dict.fromkeys(names, True)
    schema = given if "properties" in given else {"properties": given}
    more = {key: row[key] for key in ("annotations", "title", "_meta", "outputSchema") if key in row}
    raw = json.dumps({"description": row.get("description"), "inputSchema": schema, **more})
    name = row["name"].split("/")[-1]
    return Definition("", f"mcp__{server}__{name}", server, name, row.get("description"), raw)


def read_hosts(data: Path) -> list[Host]:
    """Read real definitions, each once; all tools of a server are in one fold."""
    servers: dict[tuple[str, str], list[Definition]] = {}
    for path in sorted((data / REAL).glob("*.json")):
        listed = json.loads(path.read_text(encoding="utf-8"))["tools"]
        servers[REAL, path.stem] = [read_definition(row, path.stem) for row in listed]
    for pool in POOLS:
        for row in rows(data / f"tool-retrieval/train/{pool}/tools.jsonl"):
            server = str(row.get("server") or pool)
            servers.setdefault((pool, server), []).append(read_definition(row, server))
    draw, hosts, seen = random.Random(SEED), list[Host](), set[tuple[str | None, str | None]]()
    for at, ((pool, _), listed) in enumerate(servers.items()):
        siblings = frozenset(plain(tool.tool or "") for tool in listed)
        for tool in listed:
            if (tool.tool, tool.description) not in seen and parts_of(tool):
                seen.add((tool.tool, tool.description))
                is_alone = pool != REAL and draw.random() < ALONE
                names = Names.of(passages(tool), frozenset() if is_alone else siblings)
                hosts.append(Host(tool, names, pool, at % FOLDS))
    return hosts


def parts_of(tool: Definition) -> list[Sentence]:
    return [part for passage in passages(tool) for part in sentences(passage)]


def injected(
    parts: Sequence[Sentence], text: str, draw: random.Random, label: int
) -> tuple[list[Sentence], list[int]]:
    """Put a text before, into, after or instead of a description, into a parameter or another field."""
    kept, place, where = list(parts), "description", draw.random()
    described = [at for at, part in enumerate(parts) if part.place == "description"]
    given = [at for at, part in enumerate(parts) if part.place.startswith("parameter `")]
    at = described[-1] + 1 if described else len(parts)
    if where < 0.2:
        kept = [part for part in kept if part.place != "description"]
        at = min(1, len(kept))
    elif where < 0.55 and described:
        at = described[0] if where < 0.35 else draw.choice(described) + 1
    elif where < 0.75 and given:
        at = draw.choice(given)
        place, at = parts[at].place, at + draw.randint(0, 1)
    elif where < 0.8:
        at, place = len(parts), "definition"
    about = next((part.about for part in parts if part.place == place), "")
    texts = [part.text for part in sentences(Passage("description", text))] or [text]
    texts = [" ".join(texts)] if where >= 0.95 else texts
    new = [Sentence(place, part, about if place != "description" else "") for part in texts]
    return [*kept[:at], *new, *kept[at:]], [0] * at + [label] * len(new) + [0] * (len(kept) - at)


_BAR, _CHOICE = re.compile(r"(?<!\\)\|"), re.compile(r"\{([^{}]*)\}")
_WORD, _TAG = re.compile(r"(?<!<)<(\w+)>"), re.compile(r"<<(.*?)>>")
_LEADS = ("IMPORTANT: ", "Note: ", "NOTE: ", "Mandatory: ", "Warning: ", "Attention: ", "Requirement: ",
          "Security: ", "(internal) ", "[SYSTEM] ", "**Required** ", "<IMPORTANT> ", *("",) * 28)  # fmt: skip
_NOUNS = (
    "page",
    "project",
    "issue",
    "file",
    "record",
    "user",
    "message",
    "event",
    "order",
    "customer",
    "ticket",
)
_VERBS = ("create", "delete", "update", "list", "read", "search", "send", "export", "import", "move")


def lines(name: str) -> list[str]:
    text = (CORPUS / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


class Writer:
    """Draws texts from templates: `{a|b}` is a choice, `<word>` one of the lexicon."""

    def __init__(self, hosts: Sequence[Host]) -> None:
        self.draw = random.Random(SEED)
        entries = (line.split(":", 1) for line in lines("lexicon.txt"))
        self.lexicon = {key: _BAR.split(words.strip()) for key, words in entries}
        self.attacks = [line.split(" | ", 1)[1] for line in lines("attack_templates.txt")]
        self.harmless = lines("harmless_templates.txt")
        self.tools = [(host.definition.server or "", host.definition.tool or "") for host in hosts]
        self.parameters = sorted({name for host in hosts[:4000] for name in host.names.parameters})

    def attack(self) -> str:
        return self.expanded(self.draw.choice(self.attacks))

    def harmless_text(self, siblings: Sequence[str]) -> str:
        text = self.expanded(self.draw.choice(self.harmless))
        for mark, words in (
            ("@OWN", siblings),
            ("@PARAM", self.parameters),
            ("@NOUN", _NOUNS),
            ("@VERB", _VERBS),
        ):
            text = re.sub(mark, lambda _, words=words: self.draw.choice(words), text)
        return text

    def expanded(self, text: str) -> str:
        text, before = _TAG.sub("\x01\\1\x02", text), ""
        while text != before:
            before, text = text, _CHOICE.sub(lambda choice: self.draw.choice(_BAR.split(choice[1])), text)
            text = _WORD.sub(self.word, text)
        server, tool = self.draw.choice(self.tools)
        text = text.replace("\x01", "<").replace("\x02", ">").replace("\\|", "|")
        text = " ".join(text.replace("@TOOL", tool).replace("@SERVER", server).split())
        text = self.draw.choice(_LEADS) + re.sub(r" ([.,;])(?=\s|$)", r"\1", text)
        return text[0].upper() + text[1:]

    def word(self, word: re.Match[str]) -> str:
        if word[1] in self.lexicon:
            return self.draw.choice(self.lexicon[word[1]])
        lower = word[1].lower()
        return (
            self.draw.choice(self.lexicon[lower]).capitalize()
            if lower in self.lexicon
            else f"\x01{word[1]}\x02"
        )


def written(name: str) -> list[tuple[str, str]]:
    """Read texts with their authors."""
    return [(author, text) for author, _, text in (line.partition("\t") for line in lines(name))]


def documents(data: Path) -> Iterator[Document]:
    """Make the corpus: real definitions, texts in real definitions, and the sets that only measure."""
    draw, hosts = random.Random(SEED), read_hosts(data)
    parts = [parts_of(host.definition) for host in hosts]
    for host, own in zip(hosts, parts, strict=True):
        yield Document(
            host, own, [0] * len(own), host.pool, host.fold, REAL_WEIGHT if host.pool == REAL else 1.0
        )
    good = [at for at, host in enumerate(hosts) if host.pool in HOSTS]
    real = [at for at in good if hosts[at].pool == REAL]
    listed: dict[tuple[str, str | None], list[str]] = defaultdict(list)
    for at in good:
        listed[hosts[at].pool, hosts[at].definition.server].append(hosts[at].definition.tool or "")

    def drawn_host() -> int:
        return draw.choice(real if draw.random() < REAL_SHARE else good)

    def placed(at: int, text: str, author: str, label: int, fold: int, weight: float) -> Document:
        return Document(hosts[at], *injected(parts[at], text, draw, label), author, fold, weight)

    attacks = written("attacks.tsv")
    folds = {author: at % FOLDS for at, author in enumerate(sorted({author for author, _ in attacks}))}
    for label, prefix, texts in ((1, "", attacks), (0, "harmless ", written("harmless.tsv"))):
        for author, text in texts:
            for _ in range(COPIES):
                fold = folds.get(author, NO_FOLD)
                yield placed(drawn_host(), text, prefix + author, label, fold, WRITTEN_WEIGHT)
    writer = Writer([hosts[at] for at in good])
    for _ in range(DRAWN):
        text = writer.attack() + (f" {writer.attack()}" if draw.random() < DOUBLED else "")
        yield placed(drawn_host(), text, "templates", 1, NO_FOLD, 1.0)
    for _ in range(HARMLESS_DRAWN):
        at = drawn_host()
        text = writer.harmless_text(listed[hosts[at].pool, hosts[at].definition.server])
        yield placed(at, text, "harmless templates", 0, NO_FOLD, 1.0)
    for name in MEASURED:
        for row in rows(data / f"tool-attacks/{name}.jsonl"):
            tool, label = read_definition(row, row.get("server") or "server"), int(row["label"] == "attack")
            own = parts_of(tool) or [Sentence("description", tool.description or "")]
            author = f"{name}: {row['kind'].replace('_', ' ')}" if label else f"{name}, harmless"
            is_learned = name == "mcpproxy" and row["kind"] not in NOT_SAID
            fold, labels = (FOLDS - 1 if is_learned else ONLY_MEASURED), [label] * len(own)
            labels[0] *= len(own) == 1  # the rest comes after what the tool does
            host = Host(tool, Names.of(passages(tool), frozenset()), name, fold)
            yield Document(host, own, labels, author, fold, WRITTEN_WEIGHT)


class Table(NamedTuple):
    """Rows of features, one after the other."""

    ids: NDArray[np.int32]
    values: NDArray[np.float32]
    starts: Ids

    def rows(self, chosen: Ids) -> tuple[Ids, Ids]:
        """Return the positions of the features of rows, and which row each belongs to."""
        lengths = self.starts[chosen + 1] - self.starts[chosen]
        ends = np.cumsum(lengths)
        at = np.repeat(self.starts[chosen] - (ends - lengths), lengths) + np.arange(int(ends[-1]))
        return at, np.repeat(np.arange(len(chosen)), lengths)

    def scores(self, weights: Floats, bias: float) -> Floats:
        return np.add.reduceat(weights[self.ids] * self.values, self.starts[:-1]) + bias


class Corpus(NamedTuple):
    """The features of all sentences and of all definitions."""

    sentences: Table
    wholes: Table
    labels: NDArray[np.int8]  # of sentences
    documents: Ids  # of sentences
    keys: NDArray[np.uint64]  # the same for the same sentence


def table(rows: Sequence[tuple[NDArray[np.int32], NDArray[np.float32]]]) -> Table:
    starts = np.cumsum([0, *(len(ids) for ids, _ in rows)])
    ids = np.concatenate([ids.astype(np.int32) for ids, _ in rows])
    return Table(ids, np.concatenate([values for _, values in rows]), starts)


def read_corpus(made: Sequence[Document]) -> Corpus:
    said: list[tuple[NDArray[np.int32], NDArray[np.float32]]] = []
    counts: list[Ids] = []
    wholes: list[tuple[NDArray[np.int32], NDArray[np.float32]]] = []
    for document in made:
        found = features(reader(document.host.names)(document.parts))
        order = np.argsort(found.owners, kind="stable")
        said.append((found.ids[order].astype(np.int32), found.values[order]))
        counts.append(np.bincount(found.owners, minlength=found.size))
        ids, value = whole_features(found.ids)
        wholes.append((ids, np.full(len(ids), value, np.float32)))
    starts = np.cumsum(np.concatenate([[0], *counts]))
    lines = table(said)._replace(starts=starts)
    keys = np.add.reduceat(lines.ids.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15), starts[:-1])
    labels = np.array([label for document in made for label in document.labels], np.int8)
    owners = np.repeat(np.arange(len(made)), [len(document.parts) for document in made])
    return Corpus(lines, table(wholes), labels, owners, keys + np.diff(starts).astype(np.uint64))


def fitted(rows: Table, chosen: Ids, labels: Floats, weights: Floats, decay: float) -> tuple[Floats, float]:
    """Fit a logistic regression by AdaGrad; the weights are a mean over the last epochs."""
    draw = np.random.Generator(np.random.PCG64(SEED))
    slots, bias = np.zeros(SIZE), -2.0
    squares, bias_square = np.full(SIZE, 1e-3), 1e-3
    total, bias_total, steps = np.zeros(SIZE), 0.0, 0
    for epoch in range(EPOCHS):
        order = draw.permutation(len(chosen))
        for start in range(0, len(order), BATCH):
            picked = order[start : start + BATCH]
            at, row = rows.rows(chosen[picked])
            ids, values = rows.ids[at], rows.values[at]
            margins = np.bincount(row, slots[ids] * values, len(picked)) + bias
            errors = (1 / (1 + np.exp(-margins)) - labels[picked]) * weights[picked]
            slopes = np.bincount(ids, errors[row] * values, SIZE) + decay * len(picked) * slots
            squares += slopes**2
            slots -= RATE * slopes / np.sqrt(squares)
            bias_square += float(errors.sum()) ** 2
            bias -= RATE * float(errors.sum()) / bias_square**0.5
            if epoch >= EPOCHS - AVERAGED:
                total, bias_total, steps = total + slots, bias_total + bias, steps + 1
    return total / steps, bias_total / steps


class Marks(NamedTuple):
    """What is known of each document."""

    is_attack: NDArray[np.bool_]
    weights: Floats
    folds: Ids
    host_folds: Ids
    authors: NDArray[np.str_]

    @classmethod
    def of(cls, made: Sequence[Document]) -> "Marks":
        return cls(
            np.array([any(document.labels) for document in made]),
            np.array([document.weight for document in made], float),
            np.array([document.fold for document in made]),
            np.array([document.host.fold for document in made]),
            np.array([document.author for document in made]),
        )


def fit(corpus: Corpus, marks: Marks, is_kept: NDArray[np.bool_]) -> Model:
    """Fit both models on some documents; of an attack's sentences, those that were put in."""
    is_usable = is_kept[corpus.documents] & ((corpus.labels == 1) | ~marks.is_attack[corpus.documents])
    usable = np.flatnonzero(is_usable)
    usable = usable[np.sort(np.unique(corpus.keys[usable], return_index=True)[1])]
    owners = corpus.documents[usable]
    labels = corpus.labels[usable].astype(float)
    sentence, bias = fitted(corpus.sentences, usable, labels, marks.weights[owners], DECAY_SENTENCE)
    chosen = np.flatnonzero(is_kept)
    labels = marks.is_attack[chosen].astype(float)
    whole, whole_bias = fitted(corpus.wholes, chosen, labels, marks.weights[chosen], DECAY_WHOLE)
    return Model(sentence.astype(np.float32), (WHOLE_SHARE * whole).astype(np.float32), bias,
                 WHOLE_SHARE * whole_bias, 0, 0, 0)  # fmt: skip


def scored(corpus: Corpus, model: Model, count: int) -> tuple[Floats, Floats]:
    """Return the score of each document's worst sentence, and of the document."""
    worst = np.full(count, -50.0)
    sentence = model.sentence.astype(float)
    np.maximum.at(worst, corpus.documents, corpus.sentences.scores(sentence, model.sentence_bias))
    return worst, worst + corpus.wholes.scores(model.whole.astype(float), model.whole_bias)


def packed(model: Model) -> bytes:
    """Write a model with eight bits for each weight."""
    tables = [model.sentence, model.whole]
    scales = [float(np.quantile(np.abs(table), 0.9999)) / 127 for table in tables]
    numbers = np.array([*scales, *model[2:]], np.float32).tobytes()
    rows = [
        np.clip(np.round(table / scale), -127, 127).astype(np.int8).tobytes()
        for table, scale in zip(tables, scales, strict=True)
    ]
    return zlib.compress(b"".join([numbers, *rows]), 9)


def left_out(corpus: Corpus, marks: Marks) -> tuple[Floats, Floats]:
    """Score each document by a model that has seen neither its server nor its author."""
    count = len(marks.folds)
    worst, scores = np.full(count, np.nan), np.full(count, np.nan)
    for fold in range(FOLDS):
        is_measured = marks.folds == ONLY_MEASURED
        is_kept = (marks.folds != fold) & (marks.host_folds != fold) & ~is_measured
        is_out = (marks.host_folds == fold) & ((marks.folds == fold) | (marks.folds == NO_FOLD))
        is_out |= is_measured & (fold == 0)
        sentence, score = scored(corpus, fit(corpus, marks, is_kept), count)
        worst[is_out], scores[is_out] = sentence[is_out], score[is_out]
        print(f"left out {fold + 1} of {FOLDS}", flush=True)
    return worst, scores


def recalls(scores: Floats, marks: Marks) -> str:
    """Write a table of the shares that are flagged."""
    is_scored = ~np.isnan(scores)
    cuts = [np.quantile(scores[is_scored & (marks.authors == REAL)], 1 - share) for share in SHARES]
    head = (
        "| set | texts | "
        + " | ".join(f"{share:.1%}" for share in SHARES)
        + " |\n|---|---|---|---|---|---|\n"
    )
    is_written = marks.is_attack & (marks.folds >= 0) & ~np.char.startswith(marks.authors, MEASURED[0])
    groups = [("all authors left out", is_written)]
    groups += [(f"author {name}", marks.authors == name) for name in sorted(set(marks.authors[is_written]))]
    for name in MEASURED:
        groups.append((name, marks.is_attack & np.char.startswith(marks.authors, f"{name}:")))
    rest = sorted({*marks.authors.tolist()} - {*marks.authors[is_written].tolist(), "templates"})
    groups += [(name, marks.authors == name) for name in rest]
    lines = ((name, scores[chosen & is_scored]) for name, chosen in groups)
    return head + "".join(
        f"| {name} | {len(given):,} | " + " | ".join(f"{np.mean(given > cut):.1%}" for cut in cuts) + " |\n"
        for name, given in lines
        if len(given)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--table", type=Path, help="write what is flagged of each set")
    options = parser.parse_args()
    made = list(documents(options.data))
    marks, corpus = Marks.of(made), read_corpus(made)
    print(f"{len(made):,} documents, {len(corpus.labels):,} sentences", flush=True)
    worst, scores = left_out(corpus, marks)
    is_real = marks.authors == REAL
    model = fit(corpus, marks, marks.folds != ONLY_MEASURED)
    cuts = [float(np.quantile(given[is_real], 1 - share))
            for given, share in ((worst, ORDER), (scores, HIGH), (scores, MEDIUM))]  # fmt: skip
    model = Model(*model[:4], *cuts)
    WEIGHTS.write_bytes(packed(model))
    figures = recalls(scores, marks)
    print(f"{WEIGHTS.name}: {WEIGHTS.stat().st_size:,} bytes; thresholds {cuts}\n{figures}")
    if options.table:
        options.table.write_text(figures, encoding="utf-8")


if __name__ == "__main__":
    main()
