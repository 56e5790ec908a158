"""What an application may ask of states and of Remit's own configuration, for the context that it has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from remit.configuration.session_settings import SessionSettings
from remit.decision.requirements import Dependencies
from remit.decision.snapshot import Snapshot
from remit.errors import StateError
from remit.presentation.plan import EndpointChoice, ServingPlan, make_plan
from remit.states.state_watch import Watch

if TYPE_CHECKING:
    from remit.configuration.configuration_service import ConfigurationFinding, CurrentConfiguration
    from remit.configuration.merged_configuration import TrustRequest
    from remit.decision.context import Context
    from remit.decision.problems import Problem
    from remit.decision.tools import Tool
    from remit.states.state_service import Situation, StateReport


class States:
    """The situation of a context's workspace; of a registry that has none, nothing is known or said."""

    def __init__(self, situation: Situation | None) -> None:
        self._situation = situation

    @property
    def situation(self) -> Situation:
        """What keeps the states.

        Raises:
            StateError: there is none.
        """
        if self._situation is None:
            raise StateError("this registry was opened without states")
        return self._situation

    def current(self, context: Context) -> CurrentConfiguration | None:
        """Tell what the configuration says, with what that was made of."""
        if self._situation is None:
            return None
        return self._situation.configurations.current(context.workspace)

    def ruled(self, context: Context) -> Context:
        """Give a context what the configuration says."""
        current = self.current(context)
        if current is None:
            return context
        return replace(context, requirements=current.requirements, policy=current.compiled.policy)

    def now(self, context: Context) -> Context:
        """Give a context one snapshot of the states, which counts for all that is asked with it."""
        if self._situation is None or context.snapshot is not None:
            return context
        agent = None if context.agent is None else context.agent.name
        snapshot = self._situation.snapshot(context.workspace, client=context.client, agent=agent)
        return replace(self.ruled(context), snapshot=snapshot)

    def watch(self, names: Iterable[str], context: Context) -> Watch | None:
        """Write down what has to be looked at to know whether a decision about tools still holds."""
        needed = [each.condition.dependencies() for name in names for each in context.requirements.of(name)]
        if self._situation is None or not needed:
            return Watch()
        about = Dependencies(
            {state for each in needed for state in each.states},
            {variable for each in needed for variable in each.variables},
        )
        return self._situation.watch(about, context.workspace)

    def read_configuration(self, context: Context) -> None:
        """Read the configuration where it changed, for those who go by what is stored of it."""
        self.current(context)

    def reports(self, context: Context) -> list[StateReport]:
        """List every state with its value, and where both come from."""
        if self._situation is None:
            return []
        return self._situation.states(self.now(context).snapshot or Snapshot(), context.workspace)

    def ways(self, context: Context) -> Mapping[str, str]:
        """Say for each state what would make it true, where that is known."""
        return {} if self._situation is None else self._situation.ways(context.workspace)

    def plan(self, context: Context) -> ServingPlan:
        """Tell how the gateway serves this workspace, where nothing else is asked of it."""
        if self._situation is None:
            return ServingPlan()
        return make_plan(self._situation.configuration(context.workspace), EndpointChoice())

    def told(self, context: Context) -> SessionSettings:
        """Tell how much an agent is told."""
        return (
            SessionSettings()
            if self._situation is None
            else self._situation.configurations.told(context.workspace)
        )

    def places(self, context: Context) -> Iterable[str]:
        """Name the files and directories that the configuration and the states depend on."""
        return () if self._situation is None else self._situation.places(context.workspace)

    def trust_requests(self, context: Context) -> Sequence[TrustRequest]:
        """List the states and the rules that only count with the user's trust."""
        return (
            []
            if self._situation is None
            else self._situation.configurations.trust_requests(context.workspace)
        )

    def problems(self, context: Context) -> list[Problem]:
        """List what is wrong in the configuration."""
        return [] if self._situation is None else self._situation.configurations.problems(context.workspace)

    def check(
        self, tools: Sequence[Tool], memory_tools: Sequence[str], context: Context
    ) -> list[ConfigurationFinding]:
        """List all that is wrong, contradictory or meaningless in the configuration."""
        if self._situation is None:
            return []
        return self._situation.configurations.check(tools, memory_tools, context.workspace)
