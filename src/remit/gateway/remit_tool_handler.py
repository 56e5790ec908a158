"""Handles calls of Remit's own tools, except `call_tool`, which calls another tool."""

from remit.gateway.current_lists import CurrentLists
from remit.gateway.discover_tools import ToolDiscovery
from remit.gateway.inventory import Inventory
from remit.gateway.registry_worker import RegistryWorker
from remit.gateway.remit_tool_calls import BadArgumentsError, arguments_of, report, text_of, why
from remit.presentation.refusals import failure
from remit.presentation.remit_tools import OwnTool
from remit.protocol.json_rpc import Answer, Params


class OwnToolHandler:
    """Answers `discover_tools`, `why_tool` and `report_available_tools`."""

    def __init__(
        self, worker: RegistryWorker[Inventory], lists: CurrentLists, discovery: ToolDiscovery
    ) -> None:
        self._worker = worker
        self._lists = lists
        self._discovery = discovery

    async def answer(self, own: OwnTool, params: Params) -> Answer:
        """Answer a call; report invalid arguments in the answer.

        Raises:
            RemitError: the store or the configuration cannot be used.
        """
        try:
            arguments = arguments_of(params)
            if own is OwnTool.DISCOVER:
                return await self._discovery.find(await self._lists.refresh(), arguments)
            if own is OwnTool.WHY:
                return await self._worker.run(why, text_of(arguments, "name"))
            return await self._worker.run(report, arguments.get("tools"))
        except BadArgumentsError as error:
            return failure(f"`{own}`: {error}")
