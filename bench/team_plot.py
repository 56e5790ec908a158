"""Draws the figures of `team.py`: `team_plot.py RESULTS.json PLOT.png`."""
# What it imports is in another environment.
# pyright: basic, reportMissingImports=false

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

COLORS = {"sqlite": "#7aa874", "postgres": "#0b6e4f", "ContextForge": "#7a7a7a"}
SIZES = {
    "500 tools": "500",
    "10000 tools": "10,000",
    "100000 tools of 1000 projects": "100,000 of\n1,000 projects",
}


def main() -> None:
    content = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    figure, axes = plt.subplots(1, 4, figsize=(16, 4.2))
    for at, kind in zip(axes, ("list", "echo", "discover"), strict=False):
        by_tools(at, kind, content)
    by_artifacts(axes[3], content.get("memory", []))
    figure.tight_layout()
    figure.savefig(sys.argv[2], dpi=110)


def by_tools(axes: Any, kind: str, content: dict[str, Any]) -> None:
    sizes = [size for size in SIZES if size in content]
    for name, color in COLORS.items():
        known = [(at, content[size].get(f"{kind}, {name}")) for at, size in enumerate(sizes)]
        known = [(at, row["p50_ms"]) for at, row in known if row]
        if known:
            axes.plot(*zip(*known, strict=True), "o-", color=color, label=name)
    axes.set_xticks(range(len(sizes)), [SIZES[size] for size in sizes])
    axes.set_yscale("log")
    axes.set_xlabel("tools in the store")
    axes.set_ylabel("milliseconds, p50")
    axes.set_title(kind)
    axes.grid(True, which="major", alpha=0.25)
    axes.legend()


def by_artifacts(axes: Any, rows: list[dict[str, Any]]) -> None:
    for name, style in (("words", "o--"), ("words and meaning", "o-")):
        axes.plot(
            [row["artifacts"] for row in rows],
            [row[name]["p50_ms"] for row in rows],
            style,
            color=COLORS["postgres"],
            label=name,
        )
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("artifacts of all projects, 1,000 each")
    axes.set_ylabel("milliseconds, p50")
    axes.set_title("memory search, PostgreSQL")
    axes.grid(True, which="major", alpha=0.25)
    axes.legend()


if __name__ == "__main__":
    main()
