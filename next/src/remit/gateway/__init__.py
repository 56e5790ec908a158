"""The MCP server we are: serves what is visible, and passes calls on."""

from remit.gateway.stdio import serve_stdio

__all__ = ["serve_stdio"]
