"""What must not get lost: each line of `keep/` has a test that exists, or the reason why it was dropped.

`python tests/test_keep.py` counts the lines of each room, and those that have neither yet.
"""

import ast
import sys
import tomllib
from pathlib import Path

NEXT = Path(__file__).parents[1]


def test_each_kept_line_names_a_test_that_exists() -> None:
    for path, lines in _rooms().items():
        for line in lines:
            assert {"page", "line"} <= line.keys() <= {"page", "line", "test", "dropped"}, (path.name, line)
            if test := line.get("test"):
                file, _, name = test.partition("::")
                assert name.partition("[")[0] in _tests(NEXT / file), f"{path.name}: {test} does not exist"


def _rooms() -> dict[Path, list[dict[str, str]]]:
    files = sorted((NEXT / "tests/keep").glob("*.toml"))
    return {path: tomllib.loads(path.read_text(encoding="utf-8"))["keep"] for path in files}


def _tests(path: Path) -> set[str]:
    if not path.is_file():
        return set()
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return {node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


if __name__ == "__main__":
    for room, lines in _rooms().items():
        opened = sum(not {"test", "dropped"} & line.keys() for line in lines)
        dropped = sum("dropped" in line for line in lines)
        sys.stdout.write(f"{room.stem}: {len(lines)} lines, {dropped} dropped, {opened} open\n")
