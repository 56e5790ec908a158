"""The tools of agent frameworks, held to a registry's decisions; each module needs its framework."""

__all__: list[str] = []  # users import the module of their framework
