"""Nobody imports past the interface of another package, for type checkers included.

The order of the packages is a contract of import-linter, which cannot say this.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src/remit"

# Packages inside packages that are interfaces of their own.
INTERFACES = {"remit.cli.answers", "remit.decision.when"}

# Importing module, imported module: the measured reason. A package stands for all its modules.
EXCEPTIONS: dict[tuple[str, str], str] = {}


def test_nobody_imports_past_the_interface_of_another_package() -> None:
    past = {(module, target) for module, target in _imports() if _is_past_an_interface(module, target)}

    assert past - EXCEPTIONS.keys() == set()
    assert EXCEPTIONS.keys() - past == set(), "no longer imported"


def _is_past_an_interface(module: str, target: str) -> bool:
    package = ".".join(target.split(".")[:2])
    inside = target != package and target not in INTERFACES and (SOURCE / package.split(".")[1]).is_dir()
    return inside and not f"{module}.".startswith(f"{package}.")


def _imports() -> Iterator[tuple[str, str]]:
    for path in sorted(SOURCE.rglob("*.py")):
        module = ".".join(("remit", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(
            ".__init__"
        )
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                # `from remit.store import queries` imports a module, and names only its package.
                targets = [_module(f"{node.module}.{alias.name}", str(node.module)) for alias in node.names]
            else:
                continue
            yield from ((module, target) for target in targets if target.startswith("remit."))


def _module(name: str, package: str) -> str:
    path = SOURCE.parent.joinpath(*name.split("."))
    return name if path.is_dir() or path.with_suffix(".py").is_file() else package
