"""Takes a framework through every step against a gateway, and prints which steps worked: `run_steps.py NAME`.

The target is read as JSON from stdin. Nothing but the standard library and the framework is imported.
"""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import adapters

SECONDS = 30  # for a state change to reach a client's next call


async def main(name: str) -> dict[str, str]:
    """Return `ok` or what went wrong, for each step in order."""
    given = json.load(sys.stdin)
    at = adapters.Target(given["command"], given["args"], given["env"], given["url"])
    passed: dict[str, str] = {}
    try:
        async with getattr(adapters, name)(at) as tools:
            passed["connect"] = "ok"
            await _steps(tools, given, passed)
    except Exception as failure:
        error: Exception = failure
        first = next((step for step in STEPS if passed.get(step) != "ok"), "shutdown")
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        passed[first] = f"{type(error).__name__}: {error}"[:2000]
        return passed
    passed["shutdown"] = "ok"
    return passed


async def _steps(tools: adapters.Tools, given: dict[str, Any], passed: dict[str, str]) -> None:
    def step(name: str, text: str, *wanted: str) -> None:
        missing = [each for each in wanted if each not in text]
        passed[name] = "ok" if not missing else f"no {missing} in: {text[:500]}"

    async def through(name: str, **arguments: Any) -> str:
        """Call a tool as a model does that found it: by its name, through `call_tool`."""
        return await _said(lambda: tools["call_tool"]({"name": name, "arguments": arguments}))

    step("list", " ".join(tools), "shop__weather", "discover_tools", "call_tool")
    found = await _said(lambda: tools["discover_tools"]({"query": "will it rain tomorrow?"}))
    step("discover", found, "weather")
    step("call", await _said(lambda: tools["shop__weather"]({"city": "Rome"})), "Rome: sunny")
    step("refused", await through("shop__delete_shop"), "shop__delete_shop", "policy")
    step("unknown", await through("shop__wether", city="Rome"), "shop__weather")
    asked = await through("shop__pay", amount=3)
    identity = re.search(r"approval `([0-9a-f]+)`", asked)
    if identity is None:
        passed["approval"] = f"no approval in: {asked[:500]}"
    else:
        command = [each.replace("ID", identity[1]) for each in given["approve"]]
        await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True, env=given["env"])
        step("approval", await through("shop__pay", amount=3), "paid 3")
    before = await through("shop__ship", city="Rome")
    Path(given["project"], "cart.txt").touch()
    after = before
    async with asyncio.timeout(SECONDS):
        while "shipped" not in after:  # the gateway notices by itself
            after = await through("shop__ship", city="Rome")
    step("state change", before + after, "does not hold", "shipped to Rome")
    Path(given["project"], "cart.txt").unlink()


async def _said(call: Callable[[], Awaitable[Any]]) -> str:
    """Return all that a model would read, whether the framework returns an error or raises it."""
    try:
        return str(await call())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


STEPS = ("connect", "list", "discover", "call", "refused", "unknown", "approval", "state change", "shutdown")

if __name__ == "__main__":
    sys.stdout.write("\n" + json.dumps(asyncio.run(main(sys.argv[1]))) + "\n")
