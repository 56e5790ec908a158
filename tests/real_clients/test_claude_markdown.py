"""Remit's reading of commands, skills and subagents against what the real Claude Code tells its model.

The model is a server on loopback that keeps the first request and answers with an error. In that request the
client lists every skill and command that the model may invoke, and every agent, with their descriptions; each
description here says which file it comes from.
"""

import json
import os
import random
import re
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from remit.clients.claude_code import CLIENT
from remit.clients.parsing.client_reader import read_client
from remit.decision.client_settings import ClientSettings
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.projects import View
from remit.decision.resolve import resolve
from remit.files.bounded_reader import Machine
from remit.files.checkout import locate
from support.processes import git

CLAUDE = os.environ.get("REMIT_TEST_CLAUDE", "")
LAYOUTS = int(os.environ.get("REMIT_TEST_LAYOUTS", "40"))
LONG_AGO = "2026-01-01T00:00:00.000Z"
MARK = "ours, in "

pytestmark = pytest.mark.skipif(not CLAUDE, reason="`make test-clients` installs the client and runs this")


class Layout:
    """A home and a project with commands, skills, agents and plugins, chosen by a seed."""

    def __init__(self, root: Path, chance: random.Random) -> None:
        self.root, self.chance = root, chance
        self.home, self.top = root / "home", root / "main"
        self.sub = self.top / "packages" / "api"
        (self.home / ".claude").mkdir(parents=True)
        self.sub.mkdir(parents=True)
        if self._happens(0.7):
            git("init", cwd=self.top)
        for folder in (self.home, self.top, self.sub):
            self._fill(folder / ".claude")
        self._write_plugins()
        settings: dict[str, object] = {
            "enabledPlugins": {f"{name}@here": self._happens(0.7) for name in ("quill", "kite")}
        }
        if self._happens(0.4):
            words = ("on", "off", "name-only", "user-invocable-only")
            settings["skillOverrides"] = {
                name: self.chance.choice(words) for name in ("ship", "tidy", "db:seed", "quill:ship")
            }
        self._write(self.home / ".claude/settings.json", json.dumps(settings))

    def _fill(self, folder: Path) -> None:
        for name in ("ship", "tidy", "db/seed", "we ird.näme", "deep/er/down"):
            if self._happens(0.3):
                self._write_invocable(folder / "commands" / f"{name}.md")
        for name in ("ship", "tidy", "we ird.näme", "group/ship", "plain"):
            if self._happens(0.3):
                self._write_invocable(folder / "skills" / name / "SKILL.md")
        for name in ("auditor", "scribe", "team/scout"):
            if self._happens(0.4):
                self._write_agent(folder / "agents" / f"{name}.md", name.rpartition("/")[2])

    def _write_plugins(self) -> None:
        here = self.root / "here"
        entries = [{"name": name, "source": f"./plugins/{name}"} for name in ("quill", "kite")]
        for name in ("quill", "kite"):
            folder = here / "plugins" / name
            self._fill(folder)
            manifest: dict[str, object] = {"name": name}
            if self._happens(0.3):
                manifest["commands"] = ["./more", "./commands/ship.md"]
                self._write_invocable(folder / "more/extra.md")
            if self._happens(0.3):
                manifest["skills"] = "./extra"
                self._write_invocable(folder / "extra/polish/SKILL.md")
            if self._happens(0.2):
                manifest["agents"] = ["./agents/auditor.md"]
            self._write(folder / ".claude-plugin/plugin.json", json.dumps(manifest))
        catalogue = {"name": "here", "owner": {"name": "Ada"}, "plugins": entries}
        self._write(here / ".claude-plugin/marketplace.json", json.dumps(catalogue))
        source = {"source": "directory", "path": str(here)}
        known = {"here": {"source": source, "installLocation": str(here), "lastUpdated": LONG_AGO}}
        self._write(self.home / ".claude/plugins/known_marketplaces.json", json.dumps(known))

    def _write_invocable(self, path: Path) -> None:
        said = f"{MARK}{path.relative_to(self.root)}"
        extra = self.chance.choice(
            ("", "", "disable-model-invocation: true\n", "user-invocable: no\n", "when_to_use: on Fridays\n")
        )
        text = self.chance.choice(
            (
                f"---\ndescription: {said}\n{extra}---\nbody\n",
                f'---\r\ndescription: "{said}"\r\n---\r\nbody\r\n',
                f"---\ndescription: >\n  {said}\n  folded\n{extra}---\nbody\n",
                f"---\ndescription: {said}: with a colon\n{extra}---\nbody\n",
                f"---\nmodel: opus\n---\n\n## {said}\nmore\n",
                f"# {said}\n",
            )
        )
        self._write(path, text)

    def _write_agent(self, path: Path, name: str) -> None:
        said = f"{MARK}{path.relative_to(self.root)}"
        text = self.chance.choice(
            (
                f"---\nname: {name}\ndescription: {said}\ntools: Read, Grep\n---\nprompt\n",
                f"---\nname: {name}\ndescription: {said}: with a colon\n---\nprompt\n",
                f"---\nname: 7\ndescription: {said}\n---\nprompt\n",
                f"---\ndescription: {said}\n---\nprompt\n",
                f"---\nname: a:{name}\ndescription: {said}\n---\nprompt\n",
                f"---\nname: {name} two\ndescription: |\n  {said}\n---\nprompt\n",
            )
        )
        self._write(path, text)

    def _happens(self, probability: float) -> bool:
        return self.chance.random() < probability

    def _write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


@contextmanager
def listening_model() -> Generator[tuple[int, list[str]]]:
    """A model that keeps what it is told and has nothing to say."""
    told: list[str] = []

    class Model(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None: ...

        def do_POST(self) -> None:
            told.append(self.rfile.read(int(self.headers["content-length"])).decode())
            self.send_error(400)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1], told
    finally:
        server.shutdown()
        server.server_close()


def told_to_the_model(home: Path, directory: Path) -> tuple[dict[str, str], set[str], dict[str, str]]:
    """What the client tells of skills, of skills by name alone, and of agents: names to descriptions."""
    with listening_model() as (port, told):
        subprocess.run(
            [CLAUDE, "-p", "hello"],
            cwd=directory,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(home),
                "LANG": "C.UTF-8",
                "DISABLE_AUTOUPDATER": "1",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "ANTHROPIC_API_KEY": "not-a-key",
                "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
            },
            capture_output=True,
            timeout=60,
        )
    bodies = [json.loads(text) for text in told]
    body = next(body for body in bodies if any(tool["name"] == "Skill" for tool in body.get("tools", ())))
    text = "\n".join(_texts(body["messages"]))
    agents, _, skills = text.partition("skills are available for use with the Skill tool")
    bare = set(re.findall(r"^- ([^\n]+)$", skills, re.MULTILINE))
    return _listed(skills), bare, {name: _without_tools(text) for name, text in _listed(agents).items()}


def _texts(value: Any) -> list[str]:
    """Gather the texts of messages, however deep they lie."""
    if isinstance(value, str):
        return [value]
    fields: Any = value
    items: Any = [fields.get("text"), fields.get("content")] if isinstance(value, dict) else fields
    return [text for item in items if item for text in _texts(item)]


def _listed(text: str) -> dict[str, str]:
    return dict(re.findall(rf"^- ([^\n]*?): ({MARK}[^\n]*)$", text, re.MULTILINE))


def _without_tools(text: str) -> str:
    return re.sub(r" \(Tools: [^)]*\)$", "", text)


def known_to_remit(home: Path, directory: Path) -> tuple[dict[str, str], dict[str, str]]:
    view = View(CLIENT.name, locate(str(directory)))
    reading = read_client(CLIENT, view, Machine(home=str(home), variables={}), now_ns=0)
    in_force = [
        item.declaration
        for item in resolve(reading.declarations, ClientSettings(reading.rules, behavior=reading.behavior))
        if item.shadowed_by is None and item.config_status is ConfigStatus.ENABLED
    ]
    of_kind = {
        kind: {item.name.removeprefix("/"): item.description or "" for item in in_force if item.kind in kinds}
        for kind, kinds in {
            Kind.SKILL: (Kind.SKILL, Kind.SLASH_COMMAND),
            Kind.SUBAGENT: (Kind.SUBAGENT,),
        }.items()
    }
    return of_kind[Kind.SKILL], of_kind[Kind.SUBAGENT]


@pytest.mark.parametrize("seed", range(LAYOUTS))
def test_the_model_is_told_of_the_same_commands_skills_and_agents_from_the_same_files(
    seed: int, tmp_path: Path
) -> None:
    layout = Layout(tmp_path.resolve(), random.Random(seed))  # noqa: S311 - no secrets
    for directory in (layout.top, layout.sub):
        expected_skills, by_name_alone, expected_agents = told_to_the_model(layout.home, directory)
        skills, agents = known_to_remit(layout.home, directory)
        described = {name: text for name, text in skills.items() if name not in by_name_alone}
        assert (described, agents) == (expected_skills, expected_agents)
