"""How each framework connects to an MCP server and calls its tools, in the words of its own documentation.

Runs in the environment of one framework, so nothing of Remit is imported.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

Call = Callable[[dict[str, Any]], Awaitable[Any]]  # raises, or returns whatever the framework returns
Tools = Mapping[str, Call]

SECONDS = 30  # for a call, where the default is too short for a busy machine


class Target(NamedTuple):
    """Where the gateway is: a command on stdio, or a URL."""

    command: str
    args: list[str]
    env: dict[str, str]
    url: str | None  # None: stdio


@asynccontextmanager
async def langchain(at: Target) -> AsyncIterator[Tools]:
    from langchain_mcp_adapters.client import MultiServerMCPClient
    from langchain_mcp_adapters.tools import load_mcp_tools

    stdio = {"transport": "stdio", "command": at.command, "args": at.args, "env": at.env}
    http = {"transport": "streamable_http", "url": at.url}
    async with MultiServerMCPClient({"remit": http if at.url else stdio}).session("remit") as session:
        yield {tool.name: tool.ainvoke for tool in await load_mcp_tools(session)}


@asynccontextmanager
async def fastmcp(at: Target) -> AsyncIterator[Tools]:
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    async with Client(at.url or StdioTransport(at.command, at.args, env=at.env)) as client:
        yield {tool.name: _named(client.call_tool, tool.name) for tool in await client.list_tools()}


@asynccontextmanager
async def pydantic_ai(at: Target) -> AsyncIterator[Tools]:
    from fastmcp.client.transports import StdioTransport
    from pydantic_ai.mcp import MCPToolset

    async with MCPToolset(at.url or StdioTransport(at.command, at.args, env=at.env)) as toolset:
        listed = await toolset.list_tools()
        yield {tool.name: _named(toolset.direct_call_tool, tool.name) for tool in listed}


@asynccontextmanager
async def openai_agents(at: Target) -> AsyncIterator[Tools]:
    from agents.mcp import MCPServerStdio, MCPServerStreamableHttp

    stdio: Any = {"command": at.command, "args": at.args, "env": at.env}
    made = MCPServerStreamableHttp({"url": at.url}) if at.url else MCPServerStdio(stdio)
    async with made as server:
        yield {tool.name: _named(server.call_tool, tool.name) for tool in await server.list_tools()}


@asynccontextmanager
async def llama_index(at: Target) -> AsyncIterator[Tools]:
    from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

    client = BasicMCPClient(at.url) if at.url else BasicMCPClient(at.command, args=at.args, env=at.env)

    def calling(tool: Any) -> Call:
        return lambda given: tool.acall(**given)

    yield {tool.metadata.name: calling(tool) for tool in await McpToolSpec(client).to_tool_list_async()}


@asynccontextmanager
async def smolagents(at: Target) -> AsyncIterator[Tools]:
    import asyncio

    from mcp import StdioServerParameters
    from smolagents import MCPClient

    http = {"url": at.url, "transport": "streamable-http"}
    stdio = StdioServerParameters(command=at.command, args=at.args, env=at.env)
    client = await asyncio.to_thread(MCPClient, http if at.url else stdio, structured_output=False)

    def calling(tool: Any) -> Call:
        return lambda given: asyncio.to_thread(tool, **given)

    try:
        yield {tool.name: calling(tool) for tool in client.get_tools()}
    finally:
        await asyncio.to_thread(client.disconnect)


@asynccontextmanager
async def crewai(at: Target) -> AsyncIterator[Tools]:
    from crewai.mcp.client import MCPClient
    from crewai.mcp.transports.http import HTTPTransport
    from crewai.mcp.transports.stdio import StdioTransport

    stdio = StdioTransport(command=at.command, args=at.args, env=at.env)
    async with MCPClient(HTTPTransport(url=at.url) if at.url else stdio) as client:
        listed = await client.list_tools()
        names = [tool["original_name"] for tool in listed]  # models get a shortened one
        yield {name: _named(client.call_tool_result, name) for name in names}


@asynccontextmanager
async def google_adk(at: Target) -> AsyncIterator[Tools]:
    from google.adk.tools.mcp_tool.mcp_session_manager import (
        StdioConnectionParams,
        StreamableHTTPConnectionParams,
    )
    from google.adk.tools.mcp_tool.mcp_toolset import McpToolset
    from mcp import StdioServerParameters

    stdio = StdioServerParameters(command=at.command, args=at.args, env=at.env)
    http = StreamableHTTPConnectionParams(url=at.url, timeout=SECONDS) if at.url else None
    toolset = McpToolset(
        connection_params=http or StdioConnectionParams(server_params=stdio, timeout=SECONDS)
    )

    def calling(tool: Any) -> Call:
        return lambda given: tool._run_async_impl(args=given, tool_context=_AdkContext(), credential=None)

    try:
        yield {tool.name: calling(tool) for tool in await toolset.get_tools()}
    finally:
        await toolset.close()


class _AdkContext:
    """As much of a context as a call outside of an agent needs."""

    def __getattr__(self, name: str) -> Any:
        return None


@asynccontextmanager
async def google_genai(at: Target) -> AsyncIterator[Tools]:
    from google.genai._mcp_utils import mcp_to_gemini_tools

    async with _session(at) as session:
        listed = (await session.list_tools()).tools
        for tool in listed:  # its converter cannot read a schema that is `true` or `false`
            tool.input_schema.pop("additionalProperties", None)
        names = [each.name for tool in mcp_to_gemini_tools(listed) for each in tool.function_declarations]
        yield {name: _named(session.call_tool, name) for name in names}


@asynccontextmanager
async def anthropic(at: Target) -> AsyncIterator[Tools]:
    from anthropic.lib.tools.mcp import async_mcp_tool

    async with _session(at) as session:
        made = [async_mcp_tool(tool, session) for tool in (await session.list_tools()).tools]
        yield {tool.name: tool.call for tool in made}


@asynccontextmanager
async def strands(at: Target) -> AsyncIterator[Tools]:
    import asyncio
    from itertools import count

    from mcp import StdioServerParameters, stdio_client
    from mcp.client.streamable_http import streamable_http_client
    from strands.tools.mcp import MCPClient

    stdio = StdioServerParameters(command=at.command, args=at.args, env=at.env)
    client = MCPClient(lambda: streamable_http_client(at.url) if at.url else stdio_client(stdio))
    numbers = count()

    def calling(name: str) -> Call:
        return lambda given: asyncio.to_thread(client.call_tool_sync, str(next(numbers)), name, given)

    await asyncio.to_thread(client.__enter__)
    try:
        listed = await asyncio.to_thread(client.list_tools_sync)
        yield {tool.tool_name: calling(tool.tool_name) for tool in listed}
    finally:
        await asyncio.to_thread(client.__exit__, None, None, None)


@asynccontextmanager
async def agno(at: Target) -> AsyncIterator[Tools]:
    from agno.tools.mcp import MCPTools
    from mcp import StdioServerParameters

    stdio = StdioServerParameters(command=at.command, args=at.args, env=at.env)
    async with (
        MCPTools(url=at.url, transport="streamable-http") if at.url else MCPTools(server_params=stdio)
    ) as tools:
        session = tools.session
        yield {name: _named(session.call_tool, name) for name in tools.functions}


@asynccontextmanager
async def mcp_use(at: Target) -> AsyncIterator[Tools]:
    from mcp_use import MCPClient

    stdio = {"command": at.command, "args": at.args, "env": at.env}
    client = MCPClient({"mcpServers": {"remit": {"url": at.url} if at.url else stdio}})
    session = await client.create_session("remit")
    try:
        yield {tool.name: _named(session.call_tool, tool.name) for tool in await session.list_tools()}
    finally:
        await client.close_all_sessions()


@asynccontextmanager
async def agent_framework(at: Target) -> AsyncIterator[Tools]:
    from agent_framework import MCPStdioTool, MCPStreamableHTTPTool

    stdio = MCPStdioTool(name="remit", command=at.command, args=at.args, env=at.env)
    made = MCPStreamableHTTPTool(name="remit", url=at.url) if at.url else stdio

    def calling(name: str) -> Call:
        async def call(given: dict[str, Any]) -> str:
            return "\n".join(
                str(getattr(each, "text", each)) for each in await tools.call_tool(name, **given)
            )

        return call

    async with made as tools:
        yield {each.name: calling(each.name) for each in tools.functions}


@asynccontextmanager
async def _session(at: Target) -> AsyncIterator[Any]:
    """Open a session of the MCP SDK, which some frameworks take as it is."""
    from mcp import ClientSession, StdioServerParameters, stdio_client
    from mcp.client.streamable_http import streamable_http_client

    async with AsyncExitStack() as stack:
        stdio = StdioServerParameters(command=at.command, args=at.args, env=at.env)
        opened = streamable_http_client(at.url) if at.url else stdio_client(stdio)
        read, write, *_ = await stack.enter_async_context(opened)
        session = await stack.enter_async_context(ClientSession(read, write))
        await session.initialize()
        yield session


def _named(call: Callable[[str, dict[str, Any]], Awaitable[Any]], name: str) -> Call:
    return lambda given: call(name, given)
