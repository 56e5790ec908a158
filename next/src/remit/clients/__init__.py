"""Every client that Remit knows: reads its files, installs into them, and takes that back."""

from remit.clients.scan import Scanner

__all__ = ["Scanner"]
