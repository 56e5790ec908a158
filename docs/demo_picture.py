"""Draws the first part of `remit demo` as a picture of a terminal, for the README.

`make docs` runs it. The text is real output of the real commands.
"""

import subprocess
import sys
from html import escape
from pathlib import Path

PICTURE = Path(__file__).parent / "images" / "demo.svg"
FIRST, LAST = "1. Each project", "3. Search finds"  # the parts of the story that are drawn
WIDTH = 96  # characters; longer lines are cut
LETTER, LINE, EDGE = 8.4, 19, 20  # pixels

STYLE = """\
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #1f2328; white-space: pre }
.frame { fill: #f6f8fa; stroke: #d1d9e0 } .command { fill: #0550ae; font-weight: 600 }
.title { fill: #59636e } .hidden { fill: #cf222e } .unlock { fill: #1a7f37 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc } .frame { fill: #151b23; stroke: #3d444d } .command { fill: #79c0ff }
  .title { fill: #9198a1 } .hidden { fill: #ff7b72 } .unlock { fill: #56d364 }
}"""


def draw(lines: list[str]) -> str:
    """Draw lines of text as an SVG."""
    width, height = round(WIDTH * LETTER) + 2 * EDGE, len(lines) * LINE + 2 * EDGE
    texts = [
        f'<text x="{EDGE}" y="{EDGE + LINE * at + 13}"{_class(line)} xml:space="preserve">'
        f"{escape(_cut(line))}</text>"
        for at, line in enumerate(lines)
        if line.strip()
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            "<title>remit tools and remit why, in two projects</title>",
            f"<style>{STYLE}</style>",
            f'<rect class="frame" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
            *texts,
            "</svg>\n",
        ]
    )


def _class(line: str) -> str:
    if " $ " in line:
        return ' class="command"'
    if line[:1].isdigit() and line[1:2] == ".":
        return ' class="title"'
    if line.startswith("to change it"):
        return ' class="unlock"'
    return ' class="hidden"' if "hidden" in line.split()[:2] or ": hidden" in line else ""


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"


def _story() -> list[str]:
    """Run the demo, and return the lines to draw."""
    run = subprocess.run([sys.executable, "-m", "remit", "demo"], capture_output=True, text=True, check=True)
    lines = run.stdout.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith(FIRST))
    last = next(at for at, line in enumerate(lines) if line.startswith(LAST))
    drawn = [line for line in lines[first:last] if not line.startswith("next:")]
    return drawn[: len("\n".join(drawn).rstrip().splitlines())]


if __name__ == "__main__":
    PICTURE.write_text(draw(_story()), encoding="utf-8")
