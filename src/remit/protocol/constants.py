"""Words of the Model Context Protocol that more than one part of the gateway has to spell."""

OLDER = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")  # with a handshake and a session
NEWER = ("2026-07-28",)  # each request stands for itself

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
CONNECTION_CLOSED = -32000
NO_RESOURCE = -32002  # until 2026
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022
URL_NEEDED = -32042  # of 2025-11-25: somebody has to go to a page first

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL_KEY = "io.modelcontextprotocol/logLevel"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"

ELICITED = "notifications/elicitation/complete"  # of 2025-11-25

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
