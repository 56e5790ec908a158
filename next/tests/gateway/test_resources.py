"""Resources, prompts and completions: each reaches the server that offers it, and nobody takes another's."""

import pytest

from support.gateways import NEW, OLD, World, connected, served

pytestmark = pytest.mark.anyio
eras = pytest.mark.parametrize("version", [OLD, NEW])


def resource(uri: str) -> dict[str, str]:
    return {"uri": uri, "name": uri}


@eras
async def test_resources_prompts_and_completions_reach_their_servers(world: World, version: str) -> None:
    template = {"uriTemplate": "note://{id}", "name": "t"}
    world.server("notes", resources=[resource("note://a")], templates=[template], prompts=[{"name": "greet"}])
    async with served(world, version=version) as client:
        assert [item["uri"] for item in (await client.request("resources/list"))["resources"]] == ["note://a"]
        (prompt,) = (await client.request("prompts/list"))["prompts"]
        assert prompt["name"] == "notes__greet"
        assert (await client.request("prompts/get", name="notes__greet"))["description"] == "notes says greet"
        for uri in ("note://a", "note://unlisted"):
            read = await client.request("resources/read", uri=uri)
            assert read["contents"][0]["text"] == f"notes has {uri}"
        ref = {"type": "ref/prompt", "name": "notes__greet"}
        completed = await client.request("completion/complete", ref=ref, argument={"name": "a", "value": ""})
        assert completed["completion"]["values"][1] == '{"type": "ref/prompt", "name": "greet"}'


async def test_an_address_of_two_servers_is_served_below_each_and_stays_with_who_had_it(world: World) -> None:
    world.server("one", resources=[resource("note://a")])
    async with served(world) as client:
        listed = (await client.request("resources/list"))["resources"]
        assert [item["uri"] for item in listed] == ["note://a"]
        world.server("two", resources=[resource("note://a")])
        await client.notice("notifications/resources/list_changed")
        listed = (await client.request("resources/list"))["resources"]
        assert [item["uri"] for item in listed] == ["note://a", "remit://two/note://a"]
        for uri, label in (("note://a", "one"), ("remit://two/note://a", "two")):
            (content,) = (await client.request("resources/read", uri=uri))["contents"]
            assert (content["uri"], content["text"]) == (uri, f"{label} has note://a")


async def test_a_link_leads_to_its_server_and_takes_no_address_of_another(world: World) -> None:
    link = {"type": "resource_link", "uri": "note://a", "name": "n"}
    own = {"type": "resource_link", "uri": "paper://b", "name": "n"}
    result = {"does": {"result": {"content": [link, own]}}}
    world.server("notes", resources=[resource("note://a")])
    world.server("papers", tools={"link": result})
    async with served(world) as client:
        await client.request("resources/list")
        blocks = (await client.call("papers__link"))["content"]
        assert [block["uri"] for block in blocks] == ["remit://papers/note://a", "paper://b"]
        for block in blocks:
            (content,) = (await client.request("resources/read", uri=block["uri"]))["contents"]
            assert content["text"].startswith("papers has")
        (content,) = (await client.request("resources/read", uri="note://a"))["contents"]
        assert content["text"].startswith("notes has")


async def test_templates_without_a_scheme_catch_nothing(world: World) -> None:
    world.server("greedy", templates=[{"uriTemplate": "{+any}", "name": "t"}])
    async with served(world) as client:
        await client.request("resources/templates/list")
        error = await client.error("resources/read", uri="note://a")
        assert error == {
            "code": -32002,
            "message": "Resource not found: note://a",
            "data": {"uri": "note://a"},
        }
    async with served(world, version=NEW) as client:
        assert (await client.error("resources/read", uri="note://a"))["code"] == -32602


async def test_an_unknown_prompt_waits_for_the_servers_that_are_being_asked(world: World) -> None:
    world.server("slow", prompts=[{"name": "greet"}], slow=0.5)
    async with served(world) as client:
        assert (await client.request("prompts/get", name="slow__greet"))["description"] == "slow says greet"


async def test_who_follows_a_resource_hears_of_its_updates_and_others_do_not(world: World) -> None:
    updated = {"does": {"tells": [["notifications/resources/updated", {"uri": "note://a"}]]}}
    world.server("notes", tools={"touch": updated}, resources=[resource("note://a")])
    spec = world.spec()
    async with world.gateway() as it, connected(it, spec) as one, connected(it, spec) as two:
        await one.request("resources/subscribe", uri="note://a")
        await one.call("notes__touch")
        assert await one.notice("notifications/resources/updated") == {"uri": "note://a"}
        await one.request("resources/unsubscribe", uri="note://a")
        await one.call("notes__touch")
        await two.request("ping")
        assert (one.told, two.told) == ([], [])


async def test_pages_of_two_servers_keep_their_scheme_and_are_named_in_the_tools(world: World) -> None:
    page = {"definition": {"_meta": {"ui": {"resourceUri": "ui://page"}}}}
    world.server("one", tools={"show": page}, resources=[resource("ui://page")])
    world.server("two", tools={"show": page}, resources=[resource("ui://page")])
    async with served(world, capabilities={"extensions": {"io.modelcontextprotocol/ui": {}}}) as client:
        tools = (await client.request("tools/list"))["tools"]
        pages = {tool["name"]: tool["_meta"]["ui"]["resourceUri"] for tool in tools if "_meta" in tool}
        assert pages == {"one__show": "ui://one/page", "two__show": "ui://two/page"}
        for name, uri in pages.items():
            (content,) = (await client.request("resources/read", uri=uri))["contents"]
            assert content["text"] == f"{name.partition('__')[0]} has ui://page"
