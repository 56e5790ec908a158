"""Clients of both eras that use the gateways of two teams, and judge every answer."""

import asyncio
import json
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import httpx2

from remit.errors import StoreUnavailableError
from remit.files.checkout import locate
from remit.presentation.refusals import STORE_DOWN
from remit.store.open_store import open_store
from support.downstream import NEW, OLD, Downstream
from support.memory_calls import decision, session
from support.team_nodes import TEAMS, Team

NOTICED = 1.0  # seconds after which the proxy no longer uses a node that was killed
PATIENCE = 120.0  # seconds for a request on busy cores: a slow answer is no failure


@dataclass
class Found:
    """What clients found."""

    began: float = 0.0
    counts: Counter[str] = field(default_factory=Counter[str])
    times: list[float] = field(default_factory=list[float])
    edits: list[float] = field(default_factory=list[float])  # seconds until all nodes followed
    wrong: list[str] = field(default_factory=list[str])
    unexplained: list[str] = field(default_factory=list[str])
    approved: dict[str, bool] = field(default_factory=dict[str, bool])  # whether every answer arrived
    remembered: set[str] = field(default_factory=set[str])  # titles

    def note(self, text: str) -> str:
        return f"{time.monotonic() - self.began:.1f} s: {text[:900]}"


class Client:
    """A client of one team that connects again when its session is gone, as a host application does."""

    def __init__(self, team: Team, found: Found, number: int) -> None:
        self.team, self.found, self.number, self.turn = team, found, number, 0
        self.name, self.other = TEAMS[number // 2 % 2], TEAMS[1 - number // 2 % 2]
        self.memory = memory_id(team, self.name)
        self.http = httpx2.AsyncClient(
            base_url=team.proxy,
            timeout=PATIENCE,
            headers={"Authorization": f"Bearer {team.tokens[self.name]}"},
            verify=False,
        )
        self.link: Downstream | None = None

    async def ask(self, method: str, **params: Any) -> dict[str, Any] | None:
        """Send a request; None if it failed, or was refused without the database."""
        began = time.monotonic()
        for _ in range(5):
            try:
                if self.link is None:
                    self.link = Downstream(self.http, OLD if self.number % 2 else NEW, "/mcp", {})
                    if self.number % 2:
                        await self.link.open()
                answer = await self.link.ask(method, **params)
            except (httpx2.HTTPError, json.JSONDecodeError, KeyError) as error:
                self.link = None
                if self.team.may_be_lost(began, time.monotonic(), NOTICED):
                    self.found.counts["failed with a killed node"] += 1
                else:
                    self.found.unexplained.append(self.found.note(f"{method}: {error!r}"))
                return None
            if answer.get("error", {}).get("message") == "Session not found":
                self.link = None
                self.found.counts["reconnected"] += 1
                continue
            self.found.times.append(time.monotonic() - began)
            if answer.get("error", {}).get("message") == STORE_DOWN and self.team.was_down(
                began, time.monotonic()
            ):
                self.found.counts["refused without the database"] += 1
                return None
            return answer
        self.found.unexplained.append(self.found.note(f"{method}: no session lasts"))
        return None

    async def call(self, name: str, **arguments: Any) -> dict[str, Any] | None:
        answer = await self.ask("tools/call", name=name, arguments=arguments)
        if answer is not None and "result" not in answer:
            self.found.wrong.append(self.found.note(f"{name}: {answer}"))
        return None if answer is None else answer.get("result")

    async def work(self, until: float) -> None:
        try:
            while time.monotonic() < until:
                self.turn += 1
                await self.echo()
                for every, step in STEPS.items():
                    if (self.turn + self.number) % every == 0:
                        await step(self)
        finally:
            await self.http.aclose()

    async def echo(self) -> None:
        text = f"{self.number}-{self.turn}"
        answer = await self.call(f"{self.name}__echo", text=text)
        if answer is not None:
            self.expect(answer["content"][0]["text"] == f"{self.name}: {text}", "calls", answer)

    async def list(self) -> None:
        answer = await self.ask("tools/list")
        if answer is not None:
            names = {tool["name"] for tool in answer.get("result", {}).get("tools", ())}
            own = {f"{self.name}__{tool}" for tool in ("echo", "guarded", "private")}
            self.expect(own <= names and self.other not in str(names), "lists", answer)

    async def discover(self) -> None:
        """Look for a tool that both teams have, in the words of the other team."""
        answer = await self.call("discover_tools", query=f"private of team {self.other}")
        if answer is not None:
            text = answer["content"][0]["text"]
            is_own = f"{self.name}__" in text and f"{self.other}__" not in text
            self.expect(is_own, "discoveries", answer)

    async def reach(self) -> None:
        """Call a tool of the other team, which must not exist."""
        answer = await self.ask("tools/call", name=f"{self.other}__private", arguments={"text": "x"})
        if answer is not None:
            said = answer.get("error", {}).get("message", "")
            self.expect(said.startswith("Unknown tool"), "calls across teams refused", answer)

    async def remember(self) -> None:
        """Save a decision, and search the memory for those of both teams."""
        title, began = f"plan {self.number}-{self.turn} of {self.name}", time.monotonic()
        answer = await self.save("decision", decision(title))
        if answer is not None and status(answer) == "blocked_scope":  # several nodes may create it at once
            if await self.save("session", session()) is None:
                return  # it may be lost with its node
            answer = await self.save("decision", decision(title))
        if answer is not None:
            is_kept = status(answer) in KEPT
            if is_kept:
                self.found.remembered.add(title)
            self.expect(is_kept or self.team.was_down(began, time.monotonic()), "memory writes", answer)
        began = time.monotonic()
        for id in (self.memory, memory_id(self.team, self.other)):
            answer = await self.call("remit-memory__memory_surface", query="plan", project_id=id)
            if answer is not None:
                text = answer["content"][0]["text"]
                is_apart = f"of {self.other}" not in text
                is_found = id != self.memory or f"of {self.name}" in text
                is_found |= self.team.was_down(began, time.monotonic()) or not self.found.remembered
                self.expect(is_apart and is_found, "memory searches", answer)

    async def save(self, kind: str, given: dict[str, object]) -> dict[str, Any] | None:
        return await self.call(f"remit-memory__save_{kind}", **{kind: given, "project_id": self.memory})

    async def spend(self) -> None:
        """Request approval, answer it as a person would, and try to spend it twice at once."""
        name, text, began = f"{self.name}__guarded", f"guarded-{self.number}-{self.turn}", time.monotonic()
        asked = await self.call(name, text=text)
        if asked is None:
            return
        id: str | None = asked.get("structuredContent", {}).get("approval")
        if id is None:
            is_down = self.team.was_down(began, time.monotonic())
            is_refused = is_down and "cannot be checked now" in asked["content"][0]["text"]
            self.expect(is_refused, "approvals refused without the database", asked)
            return
        try:
            is_answered = await asyncio.to_thread(approve, self.team, self.name, id)
        except StoreUnavailableError:
            return  # not acknowledged
        self.expect(is_answered, "approvals", f"lost approval {id}")
        self.found.approved[text] = True
        other = Client(self.team, self.found, self.number ^ 1)  # of the other era
        try:
            end = time.monotonic() + PATIENCE
            while time.monotonic() < end:
                found = await asyncio.gather(self.call(name, text=text), other.call(name, text=text))
                if None in found:
                    self.found.approved[text] = False  # an answer may be lost with its node
                    return
                if f"{self.name}: {text}" in [each["content"][0]["text"] for each in found if each]:
                    return
                await asyncio.sleep(0.2)  # the database is down
            self.found.wrong.append(self.found.note(f"never spent: {text}"))
        finally:
            await other.http.aclose()

    def expect(self, is_right: bool, kind: str, answer: object) -> None:
        self.found.counts[kind] += 1
        if not is_right:
            self.found.wrong.append(self.found.note(f"{kind}, {self.name}: {answer}"))


STEPS = {5: Client.list, 7: Client.discover, 9: Client.reach, 10: Client.spend, 11: Client.remember}
KEPT = ("saved", "partial", "pending_retry")  # `partial`: held for review


def memory_id(team: Team, name: str) -> str:
    project = locate(str(team.project(name))).project
    return f"{name}-{project.hash[:8]}"


def status(answer: dict[str, Any]) -> str | None:
    """Return what became of a memory that was saved; None after an error."""
    return json.loads(answer["content"][0]["text"]).get("status")


def approve(team: Team, name: str, id: str) -> bool:
    store = open_store(team.database.address())
    try:
        at = time.time_ns() // 1_000_000
        return store.approvals.answer(id, locate(str(team.project(name))), at, is_approved=True) is not None
    finally:
        store.close()
