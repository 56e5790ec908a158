"""Measures an inspection on this machine: its time for each tool, and what it finds.

`inspection.py [DATA]`: a folder with `tool-attacks`, `real-mcp-tools` and `tool-retrieval`; without it, only
our own sets are measured. `make fit-inspection` and `make fit-inspection-network` also fit both models
without each third of the sets and of the real servers. Where these fits exist, sets and servers are measured
with models that have not seen them, too.
Times are CPU times, as other work on the machine would distort the rest.
"""

import json
import os
import platform
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from remit import __version__
from remit.inspection.definition_file import FileDefinition, read_definitions
from remit.inspection.inspection_findings import Suspicion, worst
from remit.inspection.inspector import Models, bundled_models, inspect
from remit.inspection.sentence_models.linear_model import parse_weights
from remit.inspection.sentence_models.sentence_context import SentenceInContext
from remit.inspection.sentence_models.sentence_network import parse_network
from remit.inspection.surroundings import Surroundings
from run import figure

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results" / "inspection.json"
OWN = (
    *("definitions", "late_definitions", "third_definitions", "fourth_definitions"),
    *("fifth_definitions", "sixth_definitions", "seventh_definitions", "eighth_definitions"),
    *("ninth_definitions", "tenth_definitions"),
)
FITTED = ROOT / "build/inspection"
FOLDS = (  # as `training/inspection_model.py` leaves them out; the rest is in no fit
    ("definitions", "documentation_voices", "plain_notes"),
    ("late_definitions", "third_definitions", "other_tools", "tool_demands", "many_registers"),
    ("fourth_definitions", "mcpproxy", "single_sentences", "poisoning_scenarios"),
)
MOST_KINDS = 25
POOLS = ("toucan-smithery-tools", "docker-mcp-registry-tools", "composio-mock-tools")


def main() -> None:
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    sets = {name: ROOT / f"tests/inspection/{name}.jsonl" for name in OWN}
    tools = [each for path in sets.values() for each in read(path)]
    found: dict[str, object] = {}
    if data is not None and (data / "tool-attacks").is_dir():
        sets |= {name: data / f"tool-attacks/{name}.jsonl" for name in ("mcpproxy", "msb")}
        tools = [each for path in sorted((data / "real-mcp-tools").glob("*.json")) for each in read(path)]
    # Times come first: later, the other sets fill the memory that Python's collector walks through.
    samples, mean = times(tools), mean_time(tools)
    if data is not None and (data / "tool-attacks").is_dir():
        found["real-mcp-tools"] = rates(together(tools))
        for name in POOLS:
            found[name] = rates(together(read(data / f"tool-retrieval/train/{name}/tools.jsonl")))
    for name, path in sets.items():
        found[name] = by_kind(path)
    authors = {path.stem: path for path in (ROOT / "training/inspection_corpus/authors").glob("*.jsonl")}
    found |= left_out(sets | authors, data)
    figures = {"inspect_ms": figure(samples, aim=2), "inspect_mean_ms": figure([mean], aim=2)}
    environment = {"python": platform.python_version(), "system": platform.platform(), "cpus": os.cpu_count()}
    content = {"remit": __version__, "tools": len(tools), **environment, "figures": figures, "found": found}
    RESULTS.write_text(json.dumps(content, indent=2) + "\n")
    for name, rate in found.items():
        print(f"{name:28} {json.dumps(rate)}")
    spent = figures["inspect_ms"]
    print(f"inspect_ms  mean {mean:.2f}  p50 {spent['p50']:.2f}  p95 {spent['p95']:.2f}")


def read(path: Path) -> list[FileDefinition]:
    return read_definitions(path.read_text(encoding="utf-8"), str(path), path.stem)


def together(tools: Sequence[FileDefinition]) -> list[Suspicion | None]:
    others = Surroundings.of(each.definition for each in tools)
    return [worst(inspect(each.definition, others)) for each in tools]


def left_out(sets: dict[str, Path], data: Path | None) -> dict[str, object]:
    """What models find that were fitted without the set, or without the server."""
    found: dict[str, object] = {}
    real: list[Suspicion | None] = []
    for fold, names in enumerate(FOLDS):
        linear, network = FITTED / f"linear_{fold}.txt", FITTED / f"network_{fold}.npz"
        if not linear.exists() or not network.exists():
            return {}
        models = Models(
            parse_weights(linear.read_text(encoding="utf-8")), parse_network(network.read_bytes()).score
        )
        found |= {f"{name}, left out": by_kind(sets[name], models) for name in names if name in sets}
        if data is not None:
            real += unseen(data / "real-mcp-tools", fold, models)
    return found | ({"real-mcp-tools, left out": rates(real)} if real else {})


def unseen(folder: Path, fold: int, models: Models) -> list[Suspicion | None]:
    paths = sorted(folder.glob("*.json"))
    names = sorted(path.stem for path in paths)
    random.Random(1).shuffle(names)  # noqa: S311 - the folds of `training/inspection_model.py`
    tools = {path.stem: read(path) for path in paths}
    others = Surroundings.of(each.definition for listed in tools.values() for each in listed)
    return [
        worst(inspect(each.definition, others, models)) for name in names[fold::3] for each in tools[name]
    ]


def by_kind(path: Path, models: Models | None = None) -> dict[str, dict[str, float]]:
    """The rates of each kind, or of attacks and others if there are many kinds; each definition by itself."""
    found: dict[str, list[Suspicion | None]] = {}
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    is_coarse = len({row["kind"] for row in rows}) > MOST_KINDS or any("bad" in row for row in rows)
    for row, each in zip(rows, read(path), strict=True):
        severity = worst(inspect(each.definition, Surroundings.of([each.definition]), models))
        kind = row["label"] if is_coarse else f"{row['label']}: {row['kind']}"
        found.setdefault(kind, []).append(severity)
    return {kind: rates(severities) for kind, severities in found.items()}


def rates(severities: Sequence[Suspicion | None]) -> dict[str, float]:
    counts = Counter(severities)
    return {"tools": len(severities), **{each.value: counts[each] for each in Suspicion}}


def times(tools: Sequence[FileDefinition]) -> list[float]:
    others = Surroundings.of(each.definition for each in tools)
    samples: list[float] = []
    forget()
    for each in tools:
        start = time.process_time()
        inspect(each.definition, others)
        samples.append((time.process_time() - start) * 1e3)
    return samples


def mean_time(tools: Sequence[FileDefinition]) -> float:
    """The mean in milliseconds, without reading the clock for each tool, which may be a slow system call."""
    others = Surroundings.of(each.definition for each in tools)
    forget()
    start = time.process_time()
    for each in tools:
        inspect(each.definition, others)
    return (time.process_time() - start) * 1e3 / len(tools)


def forget() -> None:
    """Empty the caches, so each text is read for the first time."""
    for name, module in list(sys.modules.items()):
        if name.startswith("remit.inspection."):
            for each in vars(module).values():
                if hasattr(each, "cache_clear"):
                    each.cache_clear()
    bundled_models().network(
        SentenceInContext("", "", "", "a")
    )  # loads the network, which takes the time of many tools


if __name__ == "__main__":
    main()
