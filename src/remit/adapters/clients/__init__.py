"""The clients whose files Remit can read, one module each."""

from remit.adapters.clients import claude_code
from remit.adapters.clients.reading import Client

CLIENTS: dict[str, Client] = {client.name: client for client in (claude_code.CLIENT,)}
