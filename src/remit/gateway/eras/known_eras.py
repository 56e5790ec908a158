"""The eras that the gateway speaks with its clients, each with its adapter."""

from collections.abc import Mapping

from remit.gateway.eras.downstream_era import DownstreamEra
from remit.gateway.eras.session_downstream import SessionDownstream
from remit.gateway.eras.stateless_downstream import StatelessDownstream
from remit.protocol.era import Era

DOWNSTREAM_ERAS: Mapping[Era, DownstreamEra] = {
    Era.SESSION: SessionDownstream(),
    Era.STATELESS: StatelessDownstream(),
}
