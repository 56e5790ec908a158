"""Measures an inspection on this machine: its time for each tool, and what it finds.

`inspection.py [DATA]`: a folder with `tool-attacks`, `real-mcp-tools` and `tool-retrieval`; without it, only
our own sets are measured.
"""

import json
import os
import platform
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from remit import __version__
from remit.inspection.definition_file import FileDefinition, read_definitions
from remit.inspection.inspection_findings import Suspicion, worst
from remit.inspection.inspector import inspect
from remit.inspection.sentences import sentences
from remit.inspection.surroundings import Surroundings
from run import figure

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results" / "inspection.json"
OWN = ("definitions", "late_definitions")
POOLS = ("toucan-smithery-tools", "docker-mcp-registry-tools", "composio-mock-tools")


def main() -> None:
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    sets = {name: ROOT / f"tests/inspection/{name}.jsonl" for name in OWN}
    tools = [each for path in sets.values() for each in read(path)]
    found: dict[str, object] = {}
    if data is not None and (data / "tool-attacks").is_dir():
        sets |= {name: data / f"tool-attacks/{name}.jsonl" for name in ("mcpproxy", "msb")}
        tools = [each for path in sorted((data / "real-mcp-tools").glob("*.json")) for each in read(path)]
        found["real-mcp-tools"] = rates(together(tools))
        for name in POOLS:
            found[name] = rates(together(read(data / f"tool-retrieval/train/{name}/tools.jsonl")))
    for name, path in sets.items():
        found[name] = by_kind(path)
    sentences.cache_clear()
    figures = {"inspect_ms": figure(times(tools), aim=2)}
    environment = {"python": platform.python_version(), "system": platform.platform(), "cpus": os.cpu_count()}
    content = {"remit": __version__, "tools": len(tools), **environment, "figures": figures, "found": found}
    RESULTS.write_text(json.dumps(content, indent=2) + "\n")
    for name, rate in found.items():
        print(f"{name:28} {json.dumps(rate)}")
    print(f"inspect_ms  p50 {figures['inspect_ms']['p50']:.2f}  p95 {figures['inspect_ms']['p95']:.2f}")


def read(path: Path) -> list[FileDefinition]:
    return read_definitions(path.read_text(encoding="utf-8"), str(path), path.stem)


def together(tools: Sequence[FileDefinition]) -> list[Suspicion | None]:
    others = Surroundings.of(each.definition for each in tools)
    return [worst(inspect(each.definition, others)) for each in tools]


def by_kind(path: Path) -> dict[str, dict[str, float]]:
    """The rates of each kind, each definition by itself."""
    found: dict[str, list[Suspicion | None]] = {}
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for row, each in zip(rows, read(path), strict=True):
        severity = worst(inspect(each.definition, Surroundings.of([each.definition])))
        found.setdefault(f"{row['label']}: {row['kind']}", []).append(severity)
    return {kind: rates(severities) for kind, severities in found.items()}


def rates(severities: Sequence[Suspicion | None]) -> dict[str, float]:
    counts = Counter(severities)
    return {"tools": len(severities), **{each.value: counts[each] for each in Suspicion}}


def times(tools: Sequence[FileDefinition]) -> list[float]:
    others = Surroundings.of(each.definition for each in tools)
    samples: list[float] = []
    for each in tools:
        start = time.perf_counter()
        inspect(each.definition, others)
        samples.append((time.perf_counter() - start) * 1e3)
    return samples


if __name__ == "__main__":
    main()
