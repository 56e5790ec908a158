"""Every error Remit raises on purpose.

RemitError
├── ApprovalError             the call cannot be approved
├── ArtifactError             an artifact, or a call about it, breaks a rule
├── BadFileError              the content of a file is invalid
├── ConditionError            a condition is invalid
├── EmbeddingError            texts cannot be embedded
├── InstallError              Remit cannot be installed in a client or removed from it
│   ├── FileChangeError       a client's file cannot be changed safely
│   └── InstallRecordError    the install record that a process was started with cannot be used
├── NotApprovedError          a call of a Python tool needs approval
├── NotFoundError             nothing has the given name
├── PolicyError               configuration is invalid or cannot be changed
├── SignInError               the sign-in to a server failed
├── StateError                a state, or a value for it, is invalid
├── ServingError              the gateway cannot start, or cannot serve another endpoint
├── ToolError                 a tool is invalid or failed
│   ├── ArgumentsError        a tool does not accept the arguments of a call
│   └── HiddenToolError       the called tool is hidden or does not exist
├── UpstreamError             a server is unreachable or violates the protocol
│   ├── NotReadyError         a server cannot be started here and now
│   └── NotSignedInError      the caller has no credential for the server
└── StoreError
    ├── StoreUnavailableError   the database cannot be opened, read or written
    ├── StoreRefusedError       the database does not accept a value
    ├── StoreCorruptError       the database is damaged or not a Remit database
    └── StoreTooNewError        a newer version of Remit created the database
"""


class RemitError(Exception):
    """The base of all errors that Remit raises on purpose; `hint` is the next step of a person."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class ApprovalError(RemitError):
    """The call cannot be approved."""


class ArtifactError(RemitError):
    """An artifact, or a call about it, breaks a rule."""


class BadFileError(RemitError):
    """The content of a file is invalid."""


class ConditionError(RemitError):
    """A condition is invalid at a line and column, which count from 1."""

    def __init__(self, message: str, *, line: int = 1, column: int = 1, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.line = line
        self.column = column


class EmbeddingError(RemitError):
    """Texts cannot be embedded."""


class InstallError(RemitError):
    """Remit cannot be installed in a client or removed from it."""


class FileChangeError(InstallError):
    """A client's file cannot be changed safely."""


class InstallRecordError(InstallError):
    """The install record that a process was started with cannot be used."""

    def __init__(self, path: str, reason: str) -> None:
        client = path.replace("\\", "/").rpartition("/")[2].removesuffix(".json")
        super().__init__(
            f"the install record {path} {reason}",
            hint=f"run `remit install {client}` to repair it, or `remit uninstall {client}` to remove Remit",
        )


class NotApprovedError(RemitError):
    """A call needs approval; `approval_id` is the pending one, None if it was denied."""

    def __init__(self, message: str, *, approval_id: str | None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.approval_id = approval_id


class NotFoundError(RemitError):
    """Nothing has the given name: no file, client, project, server, room, state, agent or approval."""


class PolicyError(RemitError):
    """Configuration is invalid or cannot be changed."""


class SignInError(RemitError):
    """The sign-in to a server failed."""


class StateError(RemitError):
    """A state, or a value for it, is invalid."""


class ServingError(RemitError):
    """The gateway cannot start, or cannot serve another endpoint."""


class ToolError(RemitError):
    """A tool is invalid or failed."""


class ArgumentsError(ToolError):
    """A tool does not accept the arguments of a call."""


class HiddenToolError(ToolError):
    """The called tool is hidden or does not exist."""


class UpstreamError(RemitError):
    """A server is unreachable or violates the protocol; `output` holds its last lines.

    `hint` is for people. `next_step` is what a model can do. `reason` is what remains true: the message
    without the server's name and the state of its retries.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        next_step: str | None = None,
        output: tuple[str, ...] = (),
        reason: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.reason = reason or message
        self.next_step = next_step
        self.output = output


class NotReadyError(UpstreamError):
    """A server cannot be started here and now."""


class NotSignedInError(UpstreamError):
    """The caller has no credential for the server."""


class StoreError(RemitError):
    """The database cannot be used."""


class StoreUnavailableError(StoreError):
    """The database cannot be opened, read or written."""


class StoreRefusedError(StoreError):
    """The database does not accept a value, now or later."""


class StoreCorruptError(StoreError):
    """The database is damaged or not a Remit database."""


class StoreTooNewError(StoreError):
    """A newer version of Remit created the database."""
