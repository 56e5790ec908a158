"""The address that a gateway takes."""

import socket

from remit.apps.gateway.web import Address, bound


def test_connections_send_at_once_and_wait_for_no_acknowledgement() -> None:
    with (
        bound(Address("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
