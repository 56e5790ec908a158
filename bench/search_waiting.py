"""Measures how long the first searches take beside an embedding endpoint that needs seconds for an answer."""

import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from gateway_client import OLD, Client, Pipes
from remit.search.search_service import NO_VECTORS
from support.embedding_service import EmbeddingService, embedding_service
from support.processes import ServedProject, server_command

SECONDS = 4.0  # for each answer of the endpoint
QUERY = "capture a picture of the page"
LONGEST = 120  # seconds until meaning joins


def waiting(tools: list[dict[str, Any]]) -> dict[str, Any]:
    """Time the first search of the command and of the gateway, and how long until meaning joins."""
    with tempfile.TemporaryDirectory() as folder, embedding_service() as service:
        threading.Thread(target=_answer_late, args=(service,), daemon=True).start()
        root = Path(folder).resolve()
        listed = root / "tools.json"
        listed.write_text(json.dumps(tools), "utf-8")
        place = ServedProject(root)
        place.declare({"bench": server_command("echo.py", "stdio", str(listed))})
        place.learn()
        bundled, slow = place.environment, {**place.environment, **service.variables}
        return {
            "tools": len(tools),
            "endpoint_s": SECONDS,
            "command": {"static": _command_s(place, bundled), "slow endpoint": _command_s(place, slow)},
            "gateway": {"static": _gateway_s(place, bundled), "slow endpoint": _gateway_s(place, slow)},
        }


def _answer_late(service: EmbeddingService) -> None:
    """Hold every answer of the endpoint for a while."""
    answered = 0
    while service.asked.wait():
        service.asked.clear()
        time.sleep(SECONDS)
        held = len(service.requests) - answered
        service.answer(max(held, 1))
        answered += held


def _command_s(place: ServedProject, environment: dict[str, str]) -> dict[str, float]:
    """Time `remit search` with the start of its process: by the clock, and without what others used."""
    command = [sys.executable, "-m", "remit", "search", QUERY, "--project", str(place.project)]
    start, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    return {"wall_s": round(time.perf_counter() - start, 2), "cpu_s": round(cpu, 2)}


def _gateway_s(place: ServedProject, environment: dict[str, str]) -> dict[str, Any]:
    """Time the first `discover_tools`, later ones, and how long until the tools have vectors."""
    wire = Pipes(place.command("--strategy", "search"), environment=environment)
    client = Client(wire, OLD)
    try:
        client.tools()
        start = time.perf_counter()
        times, notes = list[float](), list[str | None]()
        while time.perf_counter() < start + LONGEST and (not notes or notes[-1] == NO_VECTORS):
            asked = time.perf_counter()
            found = client.result("tools/call", {"name": "discover_tools", "arguments": {"query": QUERY}})
            times.append(time.perf_counter() - asked)
            notes.append(found["structuredContent"]["note"])
            time.sleep(0.2)
        joined = time.perf_counter() - start
    finally:
        closing = time.perf_counter()
        wire.close()
    return {
        "first_search_s": round(times[0], 2),
        "first_note": notes[0],
        "longest_search_s": round(max(times), 2),
        "vectors_after_s": round(joined, 1),
        "end_s": round(time.perf_counter() - closing, 2),
    }
