"""The pages of gateways: who sees what by role, what people do there, and what holds when something fails."""

import json
from contextlib import closing
from dataclasses import replace

import anyio
import pytest
from starlette.types import Message

from remit.approvals.approval_service import caller_of
from remit.bootstrap import open_teams
from remit.configuration.config_model import AccessRule, Role
from remit.errors import StoreError, StoreUnavailableError, StoreUnreachableError
from remit.gateway.access.access_settings import AccessSettings, with_projects
from remit.gateway.transports.session_seal import SessionSeal
from remit.web.gateway_pages import gateway_pages
from support.frozen_database import freezable
from support.node_pages import (
    API,
    ASKS,
    HOST,
    ISSUER,
    TOOL,
    Node,
    PeopleOfGateways,
    csrf_of,
    node,
    sign_in,
    token,
    warnings,
)
from support.postgres import Databases, needs_postgres, open_everywhere
from support.sandbox import Sandbox

pytestmark = [pytest.mark.anyio, needs_postgres]

EVERY = ("here", "why/till", "search", "calls", "waiting", "tokens", "team", "simulate")
LOCAL = ("memory", "servers", "cost", "code", "static/page.css")


def waiting_call(sandbox: Sandbox, principal: str, **arguments: object) -> str:
    """Have somebody's agent call a tool that needs approval; return the id of the approval."""
    with sandbox.registry() as registry:
        context = registry.at(str(API))
        by = caller_of(context, principal)
        asked = registry.approvals.permit(TOOL, arguments, context, principal=by)
        assert asked.approval is not None
        return asked.approval.id


def goes_ahead(sandbox: Sandbox, principal: str, **arguments: object) -> bool:
    with sandbox.registry() as registry:
        context = registry.at(str(API))
        by = caller_of(context, principal)
        return registry.approvals.permit(TOOL, arguments, context, principal=by).is_allowed


@pytest.mark.long
async def test_each_role_sees_its_pages_and_no_others_and_another_team_sees_nothing(one: Node) -> None:
    seen = {
        "rita": EVERY[:3],
        "uma": EVERY[:4],
        "ann": EVERY[:5],
        "adam": EVERY[:7],
        "ada": EVERY,
        "ivan": (),
    }
    for name, pages in seen.items():
        person = await one.sign_in(name)
        answers = await person.status(*(f"api/{each}" for each in EVERY))
        assert answers == [*[200] * len(pages), *[404] * (len(EVERY) - len(pages))], name
        listed = await person.get("api/here")
        linked = {each: f'href="/web/p/api/{each.partition("/")[0]}"' in listed.text for each in EVERY}
        assert tuple(each for each, is_linked in linked.items() if is_linked) == pages, name
        assert await person.status("index/here") == [200 if name == "ivan" else 404]
        unknown = await person.get("nowhere/here")
        assert unknown.status_code == 404
        if name == "ivan":  # a project of others looks like none
            assert unknown.text.replace("nowhere", "api") == listed.text
        assert await person.status("api/here/events", "api/x/y/events") == [404] * 2
        if name == "ada":  # what is about one machine is only in `remit web`
            assert await person.status(*(f"api/{each}" for each in LOCAL)) == [404] * len(LOCAL)


async def test_a_token_becomes_a_cookie_and_is_nowhere_else(
    one: Node, people: PeopleOfGateways, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "remit")
    people.add("bot", Role.ADMIN, "api", agents=("reviewer",))
    async with one.browser() as browser:
        for name in ("x" * 300, "nothing.css", "..%2Fweb_app.py", "", "%00"):
            assert (await browser.get(f"/web/static/{name}")).status_code == 404
        for path in ("", "/", "/p/api/here", "/p/api/here.json", "/p/nowhere/here", "/events", "/sign-out"):
            answer = await browser.get(f"/web{path}")
            assert (answer.status_code, "Sign in to Remit" in answer.text) == (401, True), path
        opened = await browser.get("/web/p/api/why/till", headers={"sec-fetch-mode": "navigate"})
        assert opened.headers["location"] == "/web/sign-in?next=%2Fweb%2Fp%2Fapi%2Fwhy%2Ftill"
        form = await browser.get(opened.headers["location"])
        assert (form.status_code, 'name="next" value="/web/p/api/why/till"' in form.text) == (200, True)
        foreign = await browser.get("/web/sign-in?next=https://evil.example")
        assert "evil" not in foreign.text
        assert (await sign_in(browser, "wrong")).status_code == 401
        assert (await sign_in(browser, "")).status_code == 400
        assert warnings(await sign_in(browser, token("bot"))) == [
            "This token is for agents, not for a person."
        ]
        assert (await sign_in(browser, token("ann"), "http://evil.example")).status_code == 403
        assert (await browser.post("/web/sign-in", data={"token": token("ann")})).status_code == 403
        plain = await sign_in(browser, token("ann"))
        assert plain.headers["set-cookie"].endswith("; HttpOnly; SameSite=Strict; Path=/web")
        page = await browser.get("/web/p/api/here")
        assert page.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
        secure = await sign_in(browser, token("ann"), HOST.replace("http:", "https:"))
        assert secure.headers["set-cookie"].startswith("__Host-remit_web=")
        assert secure.headers["set-cookie"].endswith("; HttpOnly; SameSite=Strict; Path=/; Secure")
    assert plain.headers["location"] == "/web/"
    told = [plain.headers["set-cookie"], secure.headers["set-cookie"], page.text, caplog.text]
    assert not [each for each in told if token("ann") in each or people.grants[2].digest in each]


async def test_the_list_of_projects_shows_approvers_where_calls_wait(sandbox: Sandbox, one: Node) -> None:
    waiting_call(sandbox, "uma", amount=7)
    ann, uma = await one.sign_in("ann"), await one.sign_in("uma")
    assert '<a href="/web/p/api/waiting">1 to approve</a>' in (await ann.client.get("/web/")).text
    assert "to approve" not in (await uma.client.get("/web/")).text


@pytest.mark.long
async def test_a_call_is_approved_at_another_node_for_once_and_the_log_names_who_did_it(
    sandbox: Sandbox, one: Node, two: Node
) -> None:
    id = waiting_call(sandbox, "uma", note="<b>\u202eevil", amount=7)
    ann = await one.sign_in("ann")
    shown = await two.visited_by(ann).get("api/waiting")
    assert "&lt;b&gt;\\u202eevil" in shown.text
    assert "by <code>uma</code>" in shown.text
    rita = await one.sign_in("rita")
    answer = {"id": id, "answer": "approve"}
    assert (await rita.post("api/waiting/call", "api/here", **answer)).status_code == 404
    there = two.visited_by(ann)
    assert (await there.send("api/waiting/call", csrf="guessed", **answer)).status_code == 403
    assert (await there.post("api/waiting/trust", "api/waiting", answer="accept")).status_code == 404
    done = await there.post("api/waiting/call", "api/waiting", **answer)
    assert (done.status_code, done.headers["location"]) == (303, "/web/p/api/waiting")
    back = one.visited_by(there)
    assert "Approved, for one call" in (await back.get("api/waiting")).text
    assert "Approved, for one call" not in (await back.get("api/waiting")).text
    again = await ann.post("api/waiting/call", "api/waiting", **answer)
    assert warnings(again) == [f"<code>{id}</code> is approved and can no longer be answered"]
    assert goes_ahead(sandbox, "uma", note="<b>\u202eevil", amount=7)
    assert not goes_ahead(sandbox, "uma", note="<b>\u202eevil", amount=7)
    calls = (await (await one.sign_in("ada")).get("api/calls.json")).json()["calls"]
    answered = (TOOL, "approved", "ann")
    assert [(each["tool"], each["outcome"], each["principal"]) for each in calls] == [answered]


async def test_nobody_approves_their_own_call(sandbox: Sandbox, one: Node) -> None:
    id = waiting_call(sandbox, "ann", amount=8)
    ann = await one.sign_in("ann")
    assert "This call is your own" in (await ann.get("api/waiting")).text
    own = await ann.post("api/waiting/call", "api/waiting", id=id, answer="approve")
    assert warnings(own) == ["this call is your own"]
    assert not goes_ahead(sandbox, "ann", amount=8)
    denied = await ann.post("api/waiting/call", "api/waiting", id=id, answer="deny")
    assert denied.status_code == 303


async def test_a_session_ends_with_its_token_its_time_and_at_every_node_when_its_owner_signs_out(
    one: Node, two: Node, people: PeopleOfGateways
) -> None:
    uma, ann = await one.sign_in("uma"), await one.sign_in("ann")
    assert await uma.status("api/calls") == [200]
    people.grants[1] = replace(people.grants[1], role=Role.READER)
    assert await uma.status("api/here", "api/calls") == [200, 404]
    del people.grants[1]
    assert await two.visited_by(uma).status("api/here") == [401]

    copied = two.visited_by(ann)
    people.late = 3_000_000
    assert await ann.status("api/here") == [200]  # which renews the cookie
    people.late = 3_700_000
    assert await copied.status("api/here") == [401]
    assert await ann.status("api/here") == [200]
    copied = two.visited_by(ann)
    page = (await ann.get("api/here")).text
    form = {"csrf": csrf_of(page)}
    signed_out = await ann.client.post("/web/sign-out", data=form, headers={"origin": HOST})
    assert warnings(signed_out) == ["You are signed out."]
    assert await ann.status("api/here") == await copied.status("api/here") == [401]


async def test_people_of_an_issuer_sign_in_and_are_out_once_they_have_no_role(
    one: Node, two: Node, people: PeopleOfGateways
) -> None:
    rules = (AccessRule(Role.APPROVER, ("api",), group="payers"),)
    people.settings = AccessSettings(
        identity=ISSUER.identity, memberships=with_projects(rules, people.projects)
    )
    async with one.browser() as browser:
        assert (await sign_in(browser, ISSUER.token("bob", "others"))).status_code == 403
        assert (await sign_in(browser, ISSUER.token("bob", "payers", aud="https://x"))).status_code == 401
    ida = await one.sign_in("ida", ISSUER.token("ida", "payers", "others"))
    page = await two.visited_by(ida).get("api/waiting")
    assert "oidc:ida, approver" in page.text
    people.settings = AccessSettings(identity=ISSUER.identity)
    assert await ida.status("api/here") == [401]


@pytest.mark.long
async def test_an_administrator_of_the_whole_team_edits_its_rules_and_the_log_says_who(
    one: Node, two: Node
) -> None:
    ada, adam = await one.sign_in("ada"), await one.sign_in("adam")
    text = f'block = ["{TOOL}"]\n'
    draft = await ada.post("api/simulate", "api/simulate", text=text)
    assert "Disappears: 1 tool" in draft.text
    base = draft.text.split('name="base" value="', 1)[1].split('"', 1)[0]
    written = {"text": text, "base": base, "layer": "machine"}
    assert (await adam.post("api/simulate/write", "api/here", **written)).status_code == 404
    there = two.visited_by(ada)
    assert (await there.post("api/simulate/write", "api/simulate", **written)).status_code == 303
    why = (await ada.get(f"web/why/{TOOL}.json")).json()
    assert TOOL in json.dumps(why)
    stale = await ada.post("api/simulate/write", "api/simulate", **{**written, "text": ""})
    assert warnings(stale) == ["<code>team:payments/remit.toml</code> changed since the draft was made"]
    identity = '[identity]\nissuer = "https://evil.example"\naudience = "x"\n'
    refused = await ada.post("api/simulate", "api/simulate", text=identity)
    assert "a team cannot choose who uses the gateway" in refused.text
    team = (await adam.get("api/team.json")).json()["team"]
    assert (team["projects"], team["rules"]) == (["api"], text)
    assert (await ada.get("api/team.json")).json()["team"]["projects"] == ["api", "web"]
    calls = (await adam.get("api/calls.json")).json()["calls"]
    changed = ("team:payments/remit.toml", "changed", "ada")
    assert [(each["tool"], each["outcome"], each["principal"]) for each in calls] == [changed]


@pytest.mark.long
async def test_a_gateway_that_may_not_administer_the_store_names_the_command_instead(
    one: Node, address: str, people: PeopleOfGateways, databases: Databases
) -> None:
    import psycopg  # not installed everywhere

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("create role pager login; grant remit_runtime to pager")
    try:
        people.admin = databases.server.address(address.rpartition("/")[2], "pager")
        ada = await one.sign_in("ada")
        draft = await ada.post("api/simulate", "api/simulate", text='mode = "plan"\n')
        base = draft.text.split('name="base" value="', 1)[1].split('"', 1)[0]
        answer = await ada.post("api/simulate/write", "api/simulate", text='mode = "plan"\n', base=base)
    finally:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("drop role pager")
    assert warnings(answer) == ["gateways of this store cannot change the rules of teams"]
    assert "<code>remit team policy set payments FILE</code>" in answer.text
    with closing(open_teams(address)) as teams:
        assert teams.stored_policy(teams.find("payments")) == ASKS


@pytest.mark.long
async def test_users_see_their_own_calls_and_administrators_all_and_tokens_without_secrets(
    sandbox: Sandbox, one: Node, people: PeopleOfGateways
) -> None:
    for caller in ("uma", "ann"):
        id = waiting_call(sandbox, caller, by=caller)
        answering = await one.sign_in("ada")
        done = await answering.post("api/waiting/call", "api/waiting", id=id, answer="deny")
        assert done.status_code == 303
    people.add("everyone", Role.READER)
    uma, ada = await one.sign_in("uma"), await one.sign_in("ada")
    assert (await uma.get("api/calls.json")).json()["total"] == 0
    assert "None of your calls are recorded yet." in (await uma.get("api/calls")).text
    assert (await ada.get("api/calls.json")).json()["total"] == 2
    assert (await ada.get("api/calls.csv")).text.count("ada") == 2
    page = await ada.get("api/tokens")
    listed = (await ada.get("api/tokens.json")).json()["tokens"]
    assert [each["name"] for each in listed] == ["rita", "uma", "ann", "adam", "ada", "everyone"]
    assert "ivan" not in page.text
    assert not [each for each in people.grants if each.digest in page.text + json.dumps(listed)]


@pytest.mark.long
async def test_people_have_the_limits_of_their_calls(one: Node, people: PeopleOfGateways) -> None:
    people.limit(calls_per_minute=3)
    rita = await one.sign_in("rita")
    answers = await rita.status("api/search?q=a", "api/here", "api/search?q=b", "api/here", "api/search?q=c")
    assert answers == [200, 200, 200, 200, 429]
    async with one.browser() as browser:
        assert (await sign_in(browser, token("rita"))).status_code == 429


@pytest.mark.long
async def test_without_the_database_pages_say_so_and_nothing_is_changed(
    sandbox: Sandbox, address: str, people: PeopleOfGateways, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = waiting_call(sandbox, "uma", amount=9)
    with freezable(address) as (proxy, through):
        open_everywhere(monkeypatch, through)
        async with node(sandbox, through, people) as served:
            ann = await served.sign_in("ann")
            csrf = csrf_of((await ann.get("api/here")).text)
            proxy.close()
            people.is_down = True
            here = await ann.get("api/here")
            assert (here.status_code, "till" in here.text) == (200, True)
            assert warnings(here)[0].startswith("The database cannot be reached. This page shows what was")
            gone = await ann.get("api/waiting")
            assert gone.status_code == 503
            assert "The database cannot be reached, so this page cannot be shown." in warnings(gone)
            answer = await ann.send("api/waiting/call", csrf=csrf, id=id, answer="approve")
            assert answer.status_code == 503
            assert "The database cannot be reached, so nothing can be changed now." in warnings(answer)
            assert "127.0.0.1" not in gone.text + answer.text
            out = await ann.client.post("/web/sign-out", data={"csrf": csrf}, headers={"origin": HOST})
            assert "signed out in this browser" in out.text
            assert "Max-Age=0" in out.headers["set-cookie"]
    open_everywhere(monkeypatch, address)
    assert not goes_ahead(sandbox, "uma", amount=9)


async def test_a_session_counts_only_while_it_is_known_that_nobody_ended_it(
    one: Node, people: PeopleOfGateways, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = await one.sign_in("ann")

    def fail(error: StoreError) -> None:
        def is_fixed(seal: SessionSeal, id: str) -> bool:  # noqa: ARG001
            raise error

        monkeypatch.setattr(SessionSeal, "is_fixed", is_fixed)

    fail(StoreUnavailableError("a transaction has failed"))
    assert await ann.status("api/here") == [503]
    people.is_down = True
    assert await ann.status("api/here") == [503]
    fail(StoreUnreachableError("gone"))
    assert await ann.status("api/here") == [200]
    people.is_down = False
    assert await ann.status("api/here") == [503]


async def test_a_plain_cookie_counts_neither_beside_a_secure_one_nor_in_its_place(one: Node) -> None:
    ann = await one.sign_in("ann")
    async with one.browser() as browser:
        secure = (await sign_in(browser, token("ann"), HOST.replace("http", "https"))).headers["set-cookie"]
    own, plain = secure.partition(";")[0], f"remit_web={ann.client.cookies['remit_web']}"
    sent = {own: 200, plain: 200, f"__Host-remit_web=x; {plain}": 401, own.removeprefix("__Host-"): 401}
    for given, status in sent.items():
        async with one.browser() as browser:
            answer = await browser.get("/web/p/api/here", headers={"cookie": given})
            assert answer.status_code == status, given


async def test_streams_that_open_at_once_are_counted_before_they_are_answered(
    one: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway_pages, "MAX_STREAMS", 2)
    rita = await one.sign_in("rita")
    cookie = f"remit_web={rita.client.cookies['remit_web']}".encode()
    statuses: list[int] = []
    all_answered = anyio.Event()

    async def open_stream() -> None:
        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
                if len(statuses) == 4:
                    all_answered.set()
                await all_answered.wait()

        headers = [(b"host", HOST.removeprefix("http://").encode()), (b"cookie", cookie)]
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/web/events",
            "query_string": b"",
            "headers": headers,
        }
        await one.app({**scope, "http_version": "1.1", "scheme": "http"}, anyio.sleep_forever, send)

    async with anyio.create_task_group() as streams:
        for _ in range(4):
            streams.start_soon(open_stream)
        await all_answered.wait()
        streams.cancel_scope.cancel()
    assert sorted(statuses) == [200, 200, 429, 429]
