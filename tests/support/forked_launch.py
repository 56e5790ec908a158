"""Runs a program in a fork of the process that has it loaded: its streams, variables, directory and signals.

Usage: forked_launch.py SOCKET PROGRAM WORDS…, with `remit` or the path of a Python file as the program. This
starts in milliseconds because it imports nothing of the program.
"""

import json
import os
import signal
import socket
import sys

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main() -> None:
    """Hand everything over, and end as the program ends."""
    address, *words = sys.argv[1:]
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        for number in _SIGNALS:
            signal.signal(number, lambda given, _frame: connection.sendall(bytes([given])) and None)
        asked = {"words": words, "cwd": os.getcwd(), "environment": dict(os.environ)}
        socket.send_fds(connection, [json.dumps(asked).encode() + b"\n"], [0, 1, 2])
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):  # or the other side would never see the end of a pipe
            os.dup2(nowhere, stream)
        code = connection.recv(1)
    os._exit(code[0] if code else 1)


if __name__ == "__main__":
    main()
