"""The shape of the source tree: unique names, few top-level modules, no crowded folders, no long modules."""

import re
from collections import Counter, defaultdict
from pathlib import Path

import remit

ROOT = Path(remit.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
SHARED = {"__init__", "ports"}  # basenames that every package may have
MOST_AT_THE_TOP = 8
MOST_IN_A_FOLDER = 27
LONGEST = 400  # lines


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def classes(path: Path) -> list[str]:
    """List the public classes at the top level of a module."""
    return re.findall(r"^class ([^\W_]\w*)", path.read_text(encoding="utf-8"), re.MULTILINE)


def repeated(places: dict[str, list[str]]) -> dict[str, list[str]]:
    return {each: files for each, files in sorted(places.items()) if len(files) > 1}


def test_module_names_are_unique() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in MODULES:
        if path.stem not in SHARED:
            places[path.stem].append(name(path))
    assert repeated(places) == {}


def test_public_class_names_are_unique() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in MODULES:
        for each in classes(path):
            places[each].append(name(path))
    assert repeated(places) == {}


def test_few_modules_are_at_the_top_level() -> None:
    top = [path.name for path in ROOT.glob("*.py") if path.name != "__init__.py"]
    assert len(top) <= MOST_AT_THE_TOP, sorted(top)


def test_no_folder_is_crowded() -> None:
    counts = Counter(path.parent for path in MODULES if path.name != "__init__.py")
    assert {name(folder): count for folder, count in counts.items() if count > MOST_IN_A_FOLDER} == {}


def test_packages_export_nothing_but_the_root() -> None:
    exporting = [path for path in MODULES if path.name == "__init__.py" and path.stat().st_size]
    assert [name(path) for path in exporting if path != ROOT / "__init__.py"] == []


def test_no_module_is_too_long() -> None:
    lengths = {name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {path: length for path, length in lengths.items() if length > LONGEST} == {}
