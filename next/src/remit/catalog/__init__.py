"""What is visible here: catalogs, what an endpoint serves, costs, explanations."""

from remit.catalog.catalog import Catalog
from remit.catalog.registry import Registry

__all__ = ["Catalog", "Registry"]
