"""The gateway: what one endpoint serves, whoever carries the messages."""
