"""The resources of the everything-server, its prompts, and what completes their arguments."""

import json
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPError
from pictures import IMAGE
from scripted import Call, Request, Result, change, prompt, resource, says, text, tool, user, world

WATCHED = "test://watched-resource"
NOTE = "This is the content of the static text resource."


@tool()
async def trigger_prompt_change(call: Call) -> Result:
    """Let a prompt come or go."""
    await change(call.request, "test_passing_prompt")
    return says(text("changed"))


@tool()
async def trigger_resource_update(_: Call) -> Result:
    """Tell whoever watches it that a resource has changed."""
    await world.bus.publish(ResourceUpdated(uri=WATCHED))
    for watcher in world.watchers.values():
        await watcher.session.send_resource_updated(WATCHED)
    return says(text("updated"))


@prompt()
async def passing_prompt(_: Call) -> Result:
    """Come and go."""
    return user(text("here"))


@prompt()
async def simple_prompt(_: Call) -> Result:
    """Prompt with one sentence."""
    return user(text("This is a simple prompt for testing."))


@prompt("arg1", "arg2")
async def prompt_with_arguments(call: Call) -> Result:
    """Prompt with two arguments."""
    given = call.arguments
    return user(text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'"))


@prompt("resourceUri")
async def prompt_with_embedded_resource(call: Call) -> Result:
    """Prompt with a resource."""
    embedded = resource(call.arguments["resourceUri"], "Embedded resource content for testing.")
    return user(embedded, text("Please process the embedded resource above."))


@prompt()
async def prompt_with_image(_: Call) -> Result:
    """Prompt with a picture."""
    return user(IMAGE, text("Please analyze the image above."))


async def list_resources(_: Request, __: Any) -> types.ListResourcesResult:
    kinds = {"test://static-text": "text/plain", "test://static-binary": "image/png", WATCHED: "text/plain"}
    listed = [
        types.Resource(uri=uri, name=uri.removeprefix("test://"), description=uri, mime_type=kind)
        for uri, kind in kinds.items()
    ]
    return types.ListResourcesResult(resources=listed)


async def list_templates(_: Request, __: Any) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(
        uri_template="test://template/{id}/data",
        name="template",
        description="Data by number",
        mime_type="application/json",
    )
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(_: Request, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = str(params.uri)
    match uri.removeprefix("test://").split("/"):
        case ["static-binary"]:
            content: Result = {"mimeType": "image/png", "blob": IMAGE["data"]}
        case ["static-text"] | ["watched-resource"]:
            content = {"mimeType": "text/plain", "text": NOTE}
        case ["template", number, "data"]:
            data = {"id": number, "templateTest": True, "data": f"Data for ID: {number}"}
            content = {"mimeType": "application/json", "text": json.dumps(data)}
        case _:
            raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": uri})
    return types.ReadResourceResult.model_validate({"contents": [{"uri": uri, **content}]}, by_name=False)


async def subscribe(request: Request, _: Any) -> types.EmptyResult:
    world.watchers[id(request.session)] = request
    return types.EmptyResult()


async def unsubscribe(_: Request, __: Any) -> types.EmptyResult:
    world.watchers.clear()
    return types.EmptyResult()


async def complete(_: Request, params: types.CompleteRequestParams) -> types.CompleteResult:
    known = ("paris", "park", "party", "test")
    found = [word for word in known if word.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=found, total=len(found), has_more=False))


def offer(server: Server[Any]) -> None:
    """Let a server have the resources."""
    server.add_request_handler("resources/list", types.PaginatedRequestParams, list_resources)
    server.add_request_handler("resources/templates/list", types.PaginatedRequestParams, list_templates)
    server.add_request_handler("resources/read", types.ReadResourceRequestParams, read_resource)
    server.add_request_handler("resources/subscribe", types.SubscribeRequestParams, subscribe)
    server.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, unsubscribe)
    server.add_request_handler("completion/complete", types.CompleteRequestParams, complete)
