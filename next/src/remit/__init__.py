"""Gives every AI agent exactly the tools it should have, and can always say why."""

__version__ = "0.1.0"
