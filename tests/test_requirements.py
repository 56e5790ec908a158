"""The files and tests that the page on requirements names exist."""

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/requirements.md"
TEXT = PAGE.read_text(encoding="utf-8")
ROWS = [
    line.split(" | ")
    for line in TEXT.splitlines()
    if line.startswith("| ") and not line.startswith("| requirement |")
]
FEWEST = 179  # statements in the five documents


@cache
def defined(path: str) -> frozenset[str]:
    """The tests that a file defines."""
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    text = file.read_text(encoding="utf-8")
    return frozenset(re.findall(r"^(?:async )?def (\w+)", text, re.MULTILINE))


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", (PAGE.parent / page).read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_requirement_has_code_and_a_test() -> None:
    assert len(ROWS) >= FEWEST
    assert [row for row in ROWS if len(row) != 4] == []
    assert [row for row in ROWS if "](../src/remit/" not in row[1] or "::test_" not in row[2]] == []


def test_every_file_of_the_code_exists_and_is_written_as_its_link() -> None:
    links = re.findall(r"\[`([^`]+)`\]\(\.\./src/remit/([^)]+)\)", TEXT)
    assert [shown for shown, target in links if shown != target] == []
    assert [target for _, target in links if not (ROOT / "src/remit" / target).is_file()] == []


def test_every_test_exists() -> None:
    named = [name.split("::") for row in ROWS for name in re.findall(r"`(tests/[^`]+)`", row[2])]
    assert [f"{path}::{name}" for path, name in named if name not in defined(path)] == []


def test_every_link_to_a_heading_leads_to_one() -> None:
    links = re.findall(r"\]\(([^)#]+)#([^)]+)\)", TEXT)
    assert links
    assert [f"{page}#{anchor}" for page, anchor in links if anchor not in anchors(page)] == []
