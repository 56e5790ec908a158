"""Real agent frameworks in front of the gateway, and the integrations inside of them.

`make test-frameworks` installs them and runs this; with REMIT_FRAMEWORK_RESULTS it writes down what passed.
"""

import json
import os
import re
import socket
import subprocess
import sys
import tomllib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.sandbox import Sandbox
from support.shop import RULES
from support.terminal import AS_PERSON

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
HOME = Path(os.environ.get("REMIT_TEST_FRAMEWORKS", ""))
FRAMEWORKS: dict[str, dict[str, Any]] = tomllib.loads((HERE / "frameworks.toml").read_text("utf-8"))
IS_SLICE = "REMIT_FRAMEWORK_SLICE" in os.environ
CHOSEN = [name for name, each in FRAMEWORKS.items() if each.get("in_ci") or not IS_SLICE]
STEPS = ("connect", "list", "discover", "call", "refused", "unknown", "approval", "state change", "shutdown")
SECONDS = 240

pytestmark = pytest.mark.skipif(
    "REMIT_TEST_FRAMEWORKS" not in os.environ,
    reason="`make test-frameworks` installs the frameworks and runs this",
)


def python_of(name: str) -> str:
    return str(HOME / name / "bin/python")


def versions(name: str) -> dict[str, str]:
    pins = (re.split(r"\[.*\]|==", pin, maxsplit=1) for pin in FRAMEWORKS[name]["packages"])
    return {pin[0]: pin[-1].removeprefix("==") for pin in pins}


def about(name: str) -> dict[str, Any]:
    said = {key: FRAMEWORKS[name][key] for key in ("title", "note") if key in FRAMEWORKS[name]}
    return {**said, "versions": versions(name)}


@pytest.fixture(scope="module")
def results() -> Iterator[dict[str, dict[str, Any]]]:
    """What passed, by framework; written at the end, beside what earlier runs wrote of other frameworks."""
    found: dict[str, dict[str, Any]] = {}
    yield found
    if "REMIT_FRAMEWORK_RESULTS" in os.environ:
        file = Path(os.environ["REMIT_FRAMEWORK_RESULTS"])
        before: dict[str, dict[str, Any]] = json.loads(file.read_text("utf-8")) if file.exists() else {}
        entries = {name: {**before.get(name, {}), **found.get(name, {})} for name in FRAMEWORKS}
        merged = {name: entry for name, entry in entries.items() if entry}
        file.write_text(json.dumps(merged, indent=2) + "\n", "utf-8")


@contextmanager
def shop_project(sandbox: Sandbox) -> Generator[dict[str, Any]]:
    """A project with the server of a shop, and how a client reaches the gateway in front of it."""
    root = sandbox.project("shop")
    rules = re.sub(r"\[tools\.(\w+)\]", r"[tools.mcp__shop__\1]", RULES).replace('"pay"', '"mcp__shop__pay"')
    sandbox.write(root / "remit.toml", rules)
    server = {"command": sys.executable, "args": [str(HERE / "shop_server.py")]}
    paths = os.pathsep.join((str(ROOT / "src"), str(ROOT / "tests")))
    declared = {"shop": {**server, "env": {"PYTHONPATH": paths}}}
    sandbox.write(sandbox.home / ".claude.json", {"mcpServers": declared})
    serve = ["-m", "remit", "serve", "--project", str(root)]
    environment = {**sandbox.environment, "PYTHONPATH": paths, "PYTHONWARNINGS": "ignore"}
    subprocess.run(
        [sys.executable, "-m", "remit", "scan", "--connect", "--project", str(root)],
        env=environment,
        check=True,
        capture_output=True,
        timeout=60,
    )
    approve = [*AS_PERSON, "approve", "ID", "--yes", "--project", str(root)]
    yield {
        "command": sys.executable,
        "args": serve,
        "env": environment,
        "url": None,
        "project": str(root),
        "approve": approve,
    }


@contextmanager
def on_http(target: dict[str, Any]) -> Generator[dict[str, Any]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [target["command"], *target["args"], "--http", str(port)]
    with subprocess.Popen(command, env=target["env"], stderr=subprocess.PIPE, text=True) as gateway:
        assert gateway.stderr is not None
        assert "http" in gateway.stderr.readline()  # it listens
        try:
            yield {**target, "url": f"http://127.0.0.1:{port}/mcp"}
        finally:
            gateway.terminate()
            assert gateway.wait(20) is not None


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("name", [name for name in CHOSEN if "adapter" in FRAMEWORKS[name]])
def test_a_framework_uses_the_gateway(
    sandbox: Sandbox, results: dict[str, dict[str, Any]], name: str, transport: str
) -> None:
    with shop_project(sandbox) as target:
        if transport == "stdio":
            passed = run_steps(name, target)
        else:
            with on_http(target) as reached:
                passed = run_steps(name, reached)
    entry = results.setdefault(name, about(name))
    entry[transport] = [step for step in STEPS if passed.get(step) == "ok"]
    assert {step: passed.get(step, "not reached") for step in STEPS} == dict.fromkeys(STEPS, "ok")


def run_steps(name: str, target: dict[str, Any]) -> dict[str, str]:
    ran = subprocess.run(
        [python_of(name), str(HERE / "clients/run_steps.py"), FRAMEWORKS[name]["adapter"]],
        input=json.dumps(target),
        env={**target["env"], "PYTHONPATH": "", "OTEL_SDK_DISABLED": "true"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    lines = ran.stdout.strip().splitlines()
    assert lines, ran.stderr[-2000:]
    return json.loads(lines[-1])


@pytest.mark.parametrize("name", [name for name in CHOSEN if "integration" in FRAMEWORKS[name]])
def test_an_integration_holds_in_the_real_framework(results: dict[str, dict[str, Any]], name: str) -> None:
    module = FRAMEWORKS[name]["integration"]
    command = [
        python_of(name),
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-W",
        "default::ResourceWarning",
    ]
    command += ["-W", "default::pytest.PytestUnraisableExceptionWarning", "-k", f"{module} or {name}"]
    files = [f"tests/integrations/test_{module}.py", "tests/integrations/test_guides.py"]
    plain = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "COV"))}
    ran = subprocess.run(
        [*command, *files], cwd=ROOT, env=plain, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert ran.returncode == 0, ran.stdout[-6000:]
    counted = re.search(r"(\d+) passed", ran.stdout)
    assert counted is not None
    entry = results.setdefault(name, about(name))
    entry["integration"] = f"remit.integrations.{module}"


@pytest.mark.parametrize("name", [name for name in CHOSEN if "integration" in FRAMEWORKS[name]])
def test_an_integration_has_strict_types(tmp_path: Path, name: str) -> None:
    source = os.path.relpath(ROOT / f"src/remit/integrations/{FRAMEWORKS[name]['integration']}.py", tmp_path)
    settings = {"typeCheckingMode": "strict", "pythonVersion": "3.11", "exclude": list[str]()}
    project = {"include": [source], "venvPath": str(HOME), "venv": name, "extraPaths": [str(ROOT / "src")]}
    config = tmp_path / "pyrightconfig.json"
    config.write_text(json.dumps({**settings, **project}), "utf-8")
    pytest.importorskip("pyright", reason="`make check` installs the type checker")
    ran = subprocess.run(
        [sys.executable, "-m", "pyright", "-p", str(config)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout
