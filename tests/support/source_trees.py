"""Remit's modules as syntax trees, parsed once for all tests that read the source."""

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import remit

PACKAGE = Path(remit.__file__).parent


@cache
def source_trees() -> Mapping[str, ast.Module]:
    """Parse every module, by its path in the package."""
    return {
        path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
    }
