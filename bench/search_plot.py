"""Draws the figures of `search.py`: `search_plot.py RESULTS.json PLOT.png`."""
# What it imports is in another environment.
# pyright: basic, reportMissingImports=false

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

OURS, OTHERS = "#0b6e4f", "#7a7a7a"
LABELS = {"static": "static", "onnx": "onnx", "words": "words alone"}


def main() -> None:
    content = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5), width_ratios=(3, 2))
    against_latency(left, content["mean_of_dev_sets"])
    by_size(right, content["by_size"])
    figure.tight_layout()
    figure.savefig(sys.argv[2], dpi=130)


def against_latency(axes: Any, systems: dict[str, dict[str, float]]) -> None:
    for name, figures in systems.items():
        x, y = figures["p50_ms"], 100 * figures["ndcg@10"]
        is_ours = name.startswith("Remit")
        axes.plot([x, figures["p95_ms"]], [y, y], color=OURS if is_ours else OTHERS, linewidth=1, alpha=0.5)
        axes.plot(x, y, "o" if is_ours else "s", color=OURS if is_ours else OTHERS, markersize=8)
        axes.annotate(f"{name}  {y:.1f}", (x, y), xytext=(0, 9), textcoords="offset points", ha="center")
    axes.set_xscale("log")
    axes.margins(x=0.18, y=0.12)
    axes.set_xlabel("milliseconds a search, p50 (line: to p95); left is better")
    axes.set_ylabel("nDCG@10, mean of five sets; up is better")
    axes.set_title("Quality and latency, on the sets that weights were chosen on")
    axes.grid(True, which="major", alpha=0.25)


def by_size(axes: Any, providers: dict[str, list[dict[str, float] | None]]) -> None:
    for name, rows in providers.items():
        known = [row for row in rows if row is not None]
        if known:
            axes.plot(
                [row["tools"] for row in known], [row["p50_ms"] for row in known], "o-", label=LABELS[name]
            )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("tools")
    axes.set_ylabel("milliseconds a search, p50")
    axes.set_title("Latency by number of tools, in memory")
    axes.grid(True, which="major", alpha=0.25)
    axes.legend(title="Remit")


if __name__ == "__main__":
    main()
