"""Measures Remit's hooks on this machine, prints the figures beside their aims, and stores them as JSON.

Whole processes are ratios to a bare `python -c pass` and to a bare `node -e 0` of the same run, so that a
slow machine changes nothing. A hook that is written in Node pays the latter before its first line.
"""

import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from remit import __version__
from remit.hooks.event_dispatch import respond
from run import figure

RESULTS = Path(__file__).parent / "results" / "hooks.json"
ROUNDS = 31
SERVERS, TOOLS_EACH = 10, 30
CALL = {"tool_name": "mcp__server3__tool_7", "tool_input": {"q": "october"}, "tool_use_id": "toolu"}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        project = make_machine(root)
        figures = {**processes(root, project), **in_process(project)}
    environment = {"python": platform.python_version(), "system": platform.platform(), "cpus": os.cpu_count()}
    content = {"remit": __version__, "tools": SERVERS * TOOLS_EACH, **environment, "figures": figures}
    RESULTS.write_text(json.dumps(content, indent=2) + "\n")
    for name, measured in figures.items():
        aim = f"  aim: at most {measured['aim']:g}" if "aim" in measured else ""
        print(f"{name:34} p50 {measured['p50']:8.2f}  p95 {measured['p95']:8.2f}{aim}")


def make_machine(root: Path) -> Path:
    """Make a home with ten servers, a project, and what hooks kept of it before; all files are old."""
    home, project = root / "home", root / "shop"
    (project / ".git").mkdir(parents=True)
    (home / ".claude").mkdir(parents=True)
    entries = {f"server{number}": {"command": f"run-{number}"} for number in range(SERVERS)}
    (home / ".claude.json").write_text(json.dumps({"mcpServers": entries}))
    rules = '[servers.server1]\nblock = ["delete_*"]\n[states.open]\nfile = "open"\n'
    (project / "remit.toml").write_text(f'{rules}[tools."mcp__server2__*"]\nstates = ["open"]\n')
    (project / "open").touch()
    os.environ.update({"HOME": str(home), "REMIT_HOME": str(root / "data")})
    for name in ("CLAUDE_PROJECT_DIR", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_PID"):
        os.environ.pop(name, None)
    time.sleep(2.1)  # a file is believed to be settled after two seconds
    respond(told("SessionStart", project))
    for server in range(SERVERS):
        for number in range(TOOLS_EACH):
            name = f"mcp__server{server}__tool_{number}"
            respond(told("PostToolUse", project, tool_name=name, tool_use_id=name))
    return project


def told(name: str, project: Path, **fields: object) -> bytes:
    common = {"hook_event_name": name, "session_id": "s", "cwd": str(project), "permission_mode": "default"}
    return json.dumps({**common, **CALL, **fields}).encode()


def processes(root: Path, project: Path) -> dict[str, dict[str, float]]:
    """Whole processes, each round beside a bare interpreter and a bare Node."""
    hook = [str(Path(sys.executable).with_name("remit")), "hook"]
    node = shutil.which("node")
    commands: dict[str, tuple[list[str], bytes]] = {
        "python": ([sys.executable, "-c", "pass"], b""),
        **({"node": ([node, "-e", "0"], b"")} if node else {}),
        "pre_tool_use": (hook, told("PreToolUse", project)),
        "pre_tool_use_by_state": (hook, told("PreToolUse", project, tool_name="mcp__server2__tool_7")),
        "post_tool_use": (hook, b""),
        "post_tool_use_of_a_file": (hook, b""),
        "session_end": (hook, told("SessionEnd", project)),
        "session_start": (hook, told("SessionStart", project, source="startup")),
        "user_prompt_submit": (
            hook,
            told("UserPromptSubmit", project, prompt="weigh the cheese on the scale"),
        ),
    }
    samples: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(ROUNDS):
        for name, (command, given) in commands.items():
            if name.startswith("post_tool_use"):
                of_a_file = {"tool_name": "Edit", "tool_input": {"file_path": str(project / "till.py")}}
                call = of_a_file if name.endswith("file") else {}
                given = told("PostToolUse", project, tool_use_id=f"{name} {number}", duration_ms=8, **call)
            start = time.perf_counter()
            subprocess.run(command, cwd=root, input=given, check=True, stdout=subprocess.DEVNULL)
            samples[name].append(time.perf_counter() - start)
    bare = {name: statistics.median(samples.pop(name)[1:]) for name in ("python", "node") if name in samples}
    aims = {"python": 4.0, "node": 1.0}
    figures = {f"{name}_ms": figure([seconds * 1e3]) for name, seconds in bare.items()}
    for name, taken in samples.items():
        for against, seconds in bare.items():
            aim = aims[against] if name.startswith(("pre_tool_use", "post_tool_use")) else None
            ratios = [sample / seconds for sample in taken[1:]]
            figures[f"{name}_to_{against}"] = figure(ratios, aim=aim)
    return figures


def in_process(project: Path) -> dict[str, dict[str, float]]:
    """What an event takes in a process that has loaded all it needs."""
    start, call = told("SessionStart", project, source="startup"), told("PreToolUse", project)
    blocked = told("PreToolUse", project, tool_name="mcp__server1__delete_all")
    assert '"deny"' in respond(blocked)
    return {
        "session_start_ms": figure([timed(start) for _ in range(ROUNDS)], aim=300),
        "pre_tool_use_ms": figure([timed(call) for _ in range(ROUNDS)]),
        "pre_tool_use_denied_ms": figure([timed(blocked) for _ in range(ROUNDS)]),
    }


def timed(event: bytes) -> float:
    start = time.perf_counter()
    respond(event)
    return (time.perf_counter() - start) * 1e3


if __name__ == "__main__":
    main()
