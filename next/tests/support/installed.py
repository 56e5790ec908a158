"""The command `remit` of an installation for good, and a person who answers its questions."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import sysconfig
import termios
import venv
from collections.abc import Iterable, Mapping
from pathlib import Path

from support.command_line import SECONDS, SOURCE, CommandLine, Finished


def make_python(folder: Path) -> Path:
    """Make an environment whose Python finds Remit without variables, as an installation does."""
    venv.create(folder, with_pip=False)
    packages = sysconfig.get_path("purelib", vars={"base": str(folder)})
    Path(packages, "remit.pth").write_text(f"{SOURCE}\n{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


class Installed(CommandLine):
    """A home, a project, and a user of an installed Remit."""

    def __init__(self, root: Path, python: Path) -> None:
        super().__init__(root)
        self.python = python

    @property
    def environment(self) -> dict[str, str]:
        return {name: value for name, value in super().environment.items() if name != "PYTHONPATH"}

    def __call__(self, *words: str, cwd: Path | None = None, input: str = "") -> Finished:
        process = subprocess.run(
            [self.python, "-m", "remit", *words],
            cwd=cwd or self.shop,
            env=self.environment,
            input=input,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        assert "Traceback" not in process.stderr, process.stderr
        return Finished(process.returncode, process.stdout, process.stderr)

    def answering(self, *words: str, answers: Iterable[str] = (), cwd: Path | None = None) -> Finished:
        """Run a command at a terminal, with a line typed for each of its questions."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 400, 240, 0, 0))
        with subprocess.Popen(
            [self.python, "-m", "remit", *words],
            cwd=cwd or self.shop,
            env={**self.environment, "TERM": "dumb"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        ) as process:
            os.close(theirs)
            os.write(ours, "".join(f"{answer}\n" for answer in answers).encode())
            shown = b""
            while chunk := _read(ours):
                shown += chunk
            os.close(ours)
            text = shown.decode().replace("\r\n", "\n")
            assert "Traceback" not in text, text
            return Finished(process.wait(SECONDS), text, "")

    def files(self) -> Mapping[str, bytes]:
        """Return the bytes of all files but Remit's own data."""
        data = self.home / ".local/share/remit"
        paths = [path for path in self.root.rglob("*") if path.is_file() and data not in path.parents]
        return {str(path.relative_to(self.root)): path.read_bytes() for path in paths}


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the other end was closed
        return b""
