"""HAProxy in front of several gateways, configured as the guide says."""

import shutil
import subprocess
import time
import urllib.request
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from support.postgres import free_port

HAPROXY = shutil.which("haproxy")
_SECONDS = 30
_CONFIGURATION = """
global
  maxconn 4096
defaults
  mode http
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  timeout check 5s
  option redispatch 1
  retries 10
  retry-on conn-failure 503
frontend all
  bind 127.0.0.1:{port}
  default_backend gateways
backend gateways
  option http-buffer-request
  http-request set-header Remit-Retry 503
  option httpchk
  http-check send meth GET uri /ready hdr Host 127.0.0.1
  default-server check inter 250ms fall 2 rise 1
  stick-table type string len 64 size 1m expire 1h
  stick store-response res.hdr(mcp-session-id)
  stick match req.hdr(mcp-session-id)
{servers}
"""


@contextmanager
def haproxy(folder: Path, ports: Sequence[int]) -> Generator[int]:
    """Run it in front of gateways on the loopback, which are up; yields its port."""
    assert HAPROXY is not None
    port = free_port()
    servers = "\n".join(f"  server node{at} 127.0.0.1:{each}" for at, each in enumerate(ports))
    file = folder / "haproxy.cfg"
    file.write_text(_CONFIGURATION.format(port=port, servers=servers), "utf-8")
    process = subprocess.Popen([HAPROXY, "-db", "-q", "-f", str(file)])
    try:
        _wait(process, port)
        yield port
    finally:
        process.kill()
        process.wait()


def _wait(process: "subprocess.Popen[bytes]", port: int) -> None:
    end = time.monotonic() + _SECONDS
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=5):
                return
        except OSError:
            is_starting = process.poll() is None and time.monotonic() < end
            assert is_starting, "HAProxy does not answer"
            time.sleep(0.05)
