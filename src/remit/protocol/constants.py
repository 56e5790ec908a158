"""MCP names that both sides of the gateway use: keys of `_meta`, log levels and methods."""

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL_KEY = "io.modelcontextprotocol/logLevel"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"

ENVELOPE_KEYS = frozenset({VERSION_KEY, CLIENT_KEY, CAPABILITIES_KEY, LOG_LEVEL_KEY})

LIST_METHODS = frozenset({"tools/list", "resources/list", "resources/templates/list", "prompts/list"})
ELICITATION_COMPLETE = "notifications/elicitation/complete"  # 2025-11-25 only

LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


def is_at_least(level: object, minimum: str | None) -> bool:
    """Check whether a log level reaches a minimum; unknown levels never do."""
    if minimum not in LOG_LEVELS or level not in LOG_LEVELS:
        return False
    return LOG_LEVELS.index(level) >= LOG_LEVELS.index(minimum)
