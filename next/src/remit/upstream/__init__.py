"""The MCP servers we call: starts, supervises, lists and ends them."""

from remit.upstream.pool import UpstreamPool, open_pool

__all__ = ["UpstreamPool", "open_pool"]
