"""The address that a gateway takes."""

import socket

from remit.gateway.transports.socket_server import Address, bind_socket


def test_connections_are_known_for_tcp_so_that_the_event_loop_sends_at_once() -> None:
    with (
        bind_socket(Address("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as accepted,
    ):
        assert accepted.proto == socket.IPPROTO_TCP
