"""A server with everything that the official conformance suite asks of one: `everything.py stdio|http [old]`.

An old one does not know the new era.
"""

import sys
from typing import Any

import contents
import documents
import mcp_types as types
import questions
from mcp.server.lowlevel import Server
from scripted import Request, build, world
from serving import serve

PARTS = (contents, documents, questions)  # importing them defines what is offered


async def set_level(_: Request, params: types.SetLevelRequestParams) -> types.EmptyResult:
    world.level = params.level
    return types.EmptyResult()


def everything() -> Server[Any]:
    server = build("everything")
    documents.offer(server)
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, set_level)
    world.away.update(("get_passing_tool", "test_passing_prompt"))
    return server


if __name__ == "__main__":
    serve(everything(), *sys.argv[1:])
