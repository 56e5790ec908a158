"""Finds problems in the configuration of clients and of Remit, each with its fix."""
