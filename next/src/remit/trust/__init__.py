"""What a person trusts: servers, definitions, calls."""

from remit.trust.permit import StartOptions, StartPermit, permit_start

__all__ = ["StartOptions", "StartPermit", "permit_start"]
