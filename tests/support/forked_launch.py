"""Runs a program in a fork of the process that has it loaded: its streams, variables, directory and signals.

Usage: forked_launch.py SOCKET PROGRAM WORDS…, with `remit` or the path of a Python file as the program. This
starts in milliseconds because it imports nothing of the program, and next to nothing of the library.
"""

import os
import sys
from _socket import AF_UNIX, SCM_RIGHTS, SOL_SOCKET, socket

signals = __import__("_signal")  # `signal` itself makes enums of them, which takes as long as all the rest


def main() -> None:
    """Hand everything over, and end as the program ends."""
    address, *words = sys.argv[1:]
    connection = socket(AF_UNIX)
    connection.connect(address)

    def pass_on(number: int, _frame: object) -> None:
        connection.sendall(bytes([number]))

    for number in (signals.SIGTERM, signals.SIGINT, signals.SIGHUP):
        signals.signal(number, pass_on)
    variables = [f"{name}={value}" for name, value in os.environ.items()]
    asked = os.fsencode("\0".join([os.getcwd(), str(len(words)), *words, *variables]))
    streams = b"".join(stream.to_bytes(4, sys.byteorder) for stream in (0, 1, 2))
    connection.sendmsg([len(asked).to_bytes(4, "big")], [(SOL_SOCKET, SCM_RIGHTS, streams)])
    connection.sendall(asked)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # or the other side would never see the end of a pipe
        os.dup2(nowhere, stream)
    code = connection.recv(1)
    os._exit(code[0] if code else 1)


if __name__ == "__main__":
    main()
