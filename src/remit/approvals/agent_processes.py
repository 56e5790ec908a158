"""Recognizes commands that an agent runs, from variables and from the processes that started them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from os.path import basename
from typing import NamedTuple

# Clients set these for the commands of their agents. A command can clear its own, but not its ancestors'.
MARKERS = {
    "ANTIGRAVITY_AGENT": "Antigravity",
    "AUGMENT_AGENT": "Augment",
    "CLAUDECODE": "Claude Code",
    "CLINE_ACTIVE": "Cline",
    "CODEX_SANDBOX": "Codex",
    "CODEX_THREAD_ID": "Codex",
    "COPILOT_CLI": "Copilot CLI",
    "CRUSH": "Crush",
    "CURSOR_AGENT": "Cursor",
    "GEMINI_CLI": "Gemini CLI",
    "GOOSE_TERMINAL": "Goose",
    "OPENCODE": "opencode",
    "PI_CODING_AGENT": "Pi",
    "QWEN_CODE": "Qwen Code",
    "TRAE_AI_SHELL_ID": "Trae",
    "AI_AGENT": "an agent",  # last: others name it
}
# Programs that run agents only. People have terminals in editors as well, so these are not here.
_CLIENTS = {
    "aider": "Aider",
    "amp": "Amp",
    "auggie": "Augment",
    "claude": "Claude Code",
    "cline": "Cline",
    "cn": "Continue",
    "codex": "Codex",
    "copilot": "Copilot CLI",
    "crush": "Crush",
    "cursor-agent": "Cursor",
    "droid": "Droid",
    "gemini": "Gemini CLI",
    "goose": "Goose",
    "goosed": "Goose",
    "kilo": "Kilo Code",
    "kiro-cli": "Kiro",
    "kiro-cli-chat": "Kiro",
    "klaude": "klaude",
    "opencode": "opencode",
    "qwen": "Qwen Code",
}
_PACKAGES = {
    "@anthropic-ai/claude-code": "Claude Code",
    "@augmentcode/auggie": "Augment",
    "@continuedev/cli": "Continue",
    "@github/copilot": "Copilot CLI",
    "@google/gemini-cli": "Gemini CLI",
    "@openai/codex": "Codex",
    "@qwen-code/qwen-code": "Qwen Code",
    "opencode-ai": "opencode",
}
_REMIT = {"serve": "Remit's gateway", "hook": "Remit's hook"}
_INTERPRETERS = frozenset({"bun", "deno", "lua", "node", "perl", "php", "python", "ruby", "tclsh"})
_SHELLS = frozenset({"bash", "busybox", "dash", "fish", "ksh", "nu", "pwsh", "sh", "zsh"})
# What a person's line of processes begins with when process 1 or the user's manager started it. Any other
# program may run a command that an agent detached.
_LOGINS = frozenset(
    {
        "agetty",
        "cockpit-bridge",
        "dropbear",
        "etserver",
        "getty",
        "in.telnetd",
        "init",
        "login",
        "mosh-server",
    }
    | {"sshd", "sshd-auth", "sshd-session", "telnetd", "teleport", "tailscaled", "ttyd"}
)
_DESKTOPS = frozenset(
    {"Hyprland", "Xorg", "Xtigervnc", "Xvnc", "awesome", "bspwm", "budgie-panel", "budgie-wm", "cinnamon"}
    | {"cinnamon-session", "cosmic-comp", "cosmic-panel", "cosmic-session", "dwm", "enlightenment", "gdm"}
    | {"gdm-session-worker", "gdm-wayland-session", "gdm-x-session", "gdm3", "gnome-session"}
    | {"gnome-session-binary", "gnome-shell", "greetd", "herbstluftwm", "i3", "kded", "krunner", "ksmserver"}
    | {
        "kwin_wayland",
        "kwin_x11",
        "labwc",
        "lightdm",
        "lxdm",
        "lxqt-panel",
        "lxqt-session",
        "lxsession",
        "ly",
    }
    | {"mate-panel", "mate-session", "niri", "openbox", "plasma_session", "plasmashell", "qtile", "river"}
    | {"sddm", "sddm-helper", "startplasma-wayland", "startplasma-x11", "sway", "wayfire", "weston", "xdm"}
    | {"xfce4-panel", "xfce4-session", "xfdesktop", "xinit", "xmonad", "xrdp", "xrdp-sesman"}
)
_EMULATORS = frozenset(
    {"alacritty", "blackbox", "contour", "cool-retro-term", "deepin-terminal", "foot", "ghostty"}
    | {"gnome-console", "gnome-terminal", "gnome-terminal-server", "hyper", "kermit", "kgx"}
    | {"kitty", "konsole", "lxterminal", "mate-terminal", "mlterm", "ptyxis", "ptyxis-agent", "qterminal"}
    | {"rio", "roxterm", "rxvt", "sakura", "st", "tabby", "terminology", "tilda", "tilix", "urxvt", "urxvtd"}
    | {"warp", "warp-terminal", "wezterm", "wezterm-gui", "wezterm-mux-server", "xfce4-terminal", "xterm"}
    | {"yakuake"}
)
# Editors have terminals, and some of these are clients that ask their person.
_APPLICATIONS = frozenset(
    {"claude-desktop", "clion", "code", "code-insiders", "codium", "cursor", "datagrip", "goland", "idea"}
    | {"kate", "kiro", "phpstorm", "positron", "pycharm", "rider", "rubymine", "rustrover", "sublime_text"}
    | {"vscodium", "webstorm", "windsurf", "zed", "zed-editor"}
)
_LONGEST_NAME = 15  # the system cuts the names of processes
_ORIGINS = frozenset(
    part for name in _LOGINS | _DESKTOPS | _EMULATORS | _APPLICATIONS for part in (name, name[:_LONGEST_NAME])
)
_MAC_APPLICATION = re.compile(r"(?:/System)?/Applications/.*\.app/Contents/")
# Terminals that an interpreter or a shell runs: those that root installed, and the servers of editors, which
# install themselves in the user's home.
_TERMINALS = re.compile(
    r"/(?:usr|opt|snap|nix/store)/(?:[^\s/]+/)*(?:\.?terminator|\.?guake)(?:-wrapped)?"
    r"|/(?:[^/]+/)*\.(?:vscode|cursor|windsurf)(?:-[a-z]+)*-server(?:-[a-z]+)*/(?:[^\s/]+/)*"
    r"(?:server-main\.js|(?:code|cursor|windsurf)-server(?:-[a-z]+)*)"
)
_HARMLESS = re.compile(r"-[BEIPSsu]+")  # options of Python in the first line of such a script
MULTIPLEXERS = frozenset({"abduco", "dtach", "screen", "shpool", "tmux", "zellij"})
_MANAGER = "systemd"  # a user's own adopts orphans as process 1 does


class Process(NamedTuple):
    """A process, as far as its user may look."""

    pid: int
    parent: int  # 0: outside of this container
    session: int = 0  # the process that leads its session; 0: outside of this container
    terminal: int = 0  # the device that controls it; 0: none
    name: str = ""  # as it calls itself
    program: str = ""  # the file it runs, without its folder
    command: Sequence[str] = ()
    variables: frozenset[str] = frozenset()  # those asked for that it was started with
    is_own_program: bool = False  # this user could have made or renamed the file it runs


class ProcessTree(NamedTuple):
    """This process and those related to it."""

    related: Sequence[Process]  # itself, its ancestors, leaders of their sessions, the holder of its terminal
    holders: Sequence[Process] = ()  # of the terminals of its streams, and those related to them
    viewers: Sequence[Sequence[Process]] = ()  # of a related multiplexer, each with those related to it


def find_agent(variables: Mapping[str, str], tree: ProcessTree) -> str | None:
    """Return which agent, or what else than a person's terminal, runs a command; None: nothing known does."""
    marked = next((client for name, client in MARKERS.items() if variables.get(name)), None)
    return marked or _find_client((*tree.related, *tree.holders)) or _background(tree)


def find_stand_in(tree: ProcessTree, *, is_direct: bool) -> str | None:
    """Return what started a server on stdio in a client's place; None if its client may ask a person.

    A client starts its servers itself, and holds the other ends of their streams (`is_direct`). Then only
    what started the client counts. A person's own program may start a server as well.
    """
    by_pid = {process.pid: process for process in tree.related}
    own = next(iter(by_pid.values()), None)
    parent = None if own is None else by_pid.get(own.parent)
    above = [process for process in tree.related if process is not own]
    while is_direct and parent is not None and _passes_questions_on(parent):
        above.remove(parent)  # a client may consist of several processes
        parent = by_pid.get(parent.parent)
    return _find_client((*above, *tree.holders)) or _background(tree)


def _passes_questions_on(process: Process) -> bool:
    """Return whether a process is a client, or a gateway in front of one."""
    words = [basename(word) for word in process.command]
    return _program_client(process) is not None or _own_process(words) == _REMIT["serve"]


def _background(tree: ProcessTree) -> str | None:
    """Return words for a process that no person attends, as far as anything is known about it."""
    viewed = any(
        _find_client(viewer) is None and _is_attended(viewer, viewed=True) for viewer in tree.viewers
    )
    is_known = bool(tree.related)
    return "a background process" if is_known and not _is_attended(tree.related, viewed=viewed) else None


def _find_client(processes: Iterable[Process]) -> str | None:
    return next(filter(None, map(_client, processes)), None)


def _client(process: Process) -> str | None:
    """Return the client that a process is, or that it says it was started by."""
    marked = next((client for name, client in MARKERS.items() if name in process.variables), None)
    words = [basename(word) for word in process.command]
    return marked or _program_client(process) or _own_process(words)


def _program_client(process: Process) -> str | None:
    """Return the client whose program a process runs."""
    for name in (process.name, process.program, *map(basename, process.command[:1])):
        if (client := _CLIENTS.get(name.removesuffix(".exe"))) is not None:
            return client
    return _script_client(process)


def _script_client(process: Process) -> str | None:
    """Return the client whose script an interpreter runs."""
    script = _script(process) if _plain(process) in _INTERPRETERS else ""
    for package, client in _PACKAGES.items():
        if f"/{package}/" in script:
            return client
    return _CLIENTS.get(basename(script).removesuffix(".js"))


def _own_process(words: Sequence[str]) -> str | None:
    """Return the part of Remit that starts programs for an agent."""
    return next(
        (_REMIT[word] for before, word in pairwise(words) if before == "remit" and word in _REMIT), None
    )


def _is_attended(related: Iterable[Process], *, viewed: bool) -> bool:
    """Return whether the line of processes leads to a login, a desktop, a container or a job of its own.

    Whoever detaches a command cuts that line: the command, or the tool that opened its terminal, is adopted
    by process 1 and leads its own session. A multiplexer cuts it, too, but then a person views it.
    """
    by_pid = {process.pid: process for process in related}
    return any(_is_origin(process, by_pid, viewed=viewed) for process in by_pid.values())


def _is_origin(process: Process, by_pid: Mapping[int, Process], *, viewed: bool) -> bool:
    if _is_manager(process) and len(by_pid) > 1:
        return False
    parent = by_pid.get(process.parent)
    if process.parent != 1 and (parent is None or not _is_manager(parent)):
        return parent is None  # it came from outside, or from a process that this user cannot see
    if parent is not None and parent.pid == 1 and parent.session == process.session:
        return True  # the main command of a container
    program = _plain(process)
    if program in _INTERPRETERS | _SHELLS:  # the editors' servers bring their own
        return _is_terminal(process.command[1:])
    if process.is_own_program:
        return False  # a copy of a shell can have any name
    if program in MULTIPLEXERS:
        return viewed
    is_origin = (process.program or process.name) in _ORIGINS or program in _ORIGINS
    return is_origin or _MAC_APPLICATION.match(" ".join(process.command)) is not None


def _is_terminal(arguments: Sequence[str]) -> bool:
    """Tell whether an interpreter or a shell runs the script of a terminal."""
    script = next((word for word in arguments if not _HARMLESS.fullmatch(word)), "")
    return _TERMINALS.fullmatch(script) is not None


def _is_manager(process: Process) -> bool:
    return process.pid == 1 or (process.parent == 1 and process.name == _MANAGER)


def _plain(process: Process) -> str:
    """Return a program's name without its version."""
    return re.sub(r"[\d.]+$", "", process.program or process.name).removeprefix("-")  # of a login shell


def _script(process: Process) -> str:
    return next((word for word in process.command[1:] if not word.startswith("-")), "")
