"""Every error Remit raises on purpose.

RemitError
├── AgentError                the agent does not exist, or its definition is invalid
├── ApprovalError             the call cannot be approved
│   └── UnknownApprovalError  the approval does not exist
├── ArtifactError             an artifact, or a call about it, breaks a rule
│   └── UnknownArtifactError  the artifact does not exist
├── BadFileError              the content of a file is invalid
├── BadVariableError          an environment variable is invalid
├── ConditionError            a condition is invalid
├── CredentialError           a credential for a server cannot be stored, found or decrypted
├── EmbeddingError            texts cannot be embedded
├── IdentityError             the identity provider cannot be used now
├── InstallError              Remit cannot be installed in a client or removed from it
│   ├── FileChangeError       a client's file cannot be changed safely
│   ├── InstallRecordError    the install record that a process was started with cannot be used
│   └── NotInstalledError     Remit is not installed in the client
├── NoSuchDirectoryError      the directory does not exist or cannot be used
├── NoSuchFileError           the file does not exist
├── NotApprovedError          a call of a Python tool, or a write to memory, needs approval
├── PolicyError               a policy is invalid or cannot be changed
├── ScopeError                a call names no project, or a project that does not exist
├── SignInError               the sign-in to a server failed
├── StateError                a state, or a value for it, is invalid
│   └── UnknownStateError     the state is not declared
├── ServingError              the gateway cannot start, or cannot serve another endpoint
├── TeamError                 a team, its project or its server does not exist or is invalid
├── TokenError                a token cannot be created, or the tokens cannot be read
├── ToolError                 a tool is invalid or failed
│   ├── ArgumentsError        a tool does not accept the arguments of a call
│   └── HiddenToolError       the called tool is hidden or does not exist
├── UnknownClientError        the client is not supported
├── UnknownProjectError       nothing is stored about the project
├── UnknownRoomError          the room is not declared
├── UnknownServerError        the server is not known here
├── UpstreamError             a server is unreachable or violates the protocol
│   ├── NotSignedInError      the caller has no credential for the server
│   ├── OwnedElsewhereError   only one process may run the server, and another one does
│   └── RestartedError        the server restarted after its tools were listed
└── StoreError
    ├── StoreUnavailableError   the database cannot be opened, read or written
    │   ├── StoreRightsError    the user of the database may not do this
    │   ├── StoreTimeoutError   a query took too long
    │   └── StoreUnreachableError  the database server cannot be reached, or does not answer
    ├── StoreRefusedError       the database does not accept a value
    ├── StoreCorruptError       the database is damaged or not a Remit database
    └── StoreTooNewError        a newer version of Remit created the database
"""


class RemitError(Exception):
    """The base of all errors that Remit raises on purpose."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class AgentError(RemitError):
    """The agent does not exist, or its definition is invalid."""


class ApprovalError(RemitError):
    """The call cannot be approved."""


class UnknownApprovalError(ApprovalError):
    """The approval does not exist."""


ONE_OF_THE_FIELDS = "one of the fields "  # how the rule about an unknown field begins


class ArtifactError(RemitError):
    """An artifact, or a call about it, breaks a rule: `field` must be `rule`."""

    def __init__(self, field: str, rule: str, got: str, *, hint: str | None = None) -> None:
        told = f"`{field}` must be {rule}, but is {got}"
        if rule.startswith(ONE_OF_THE_FIELDS):
            told = f"unknown field `{field}`; expected {rule}"
        super().__init__(told, hint=hint)
        self.field = field
        self.rule = rule
        self.got = got


class UnknownArtifactError(ArtifactError):
    """The artifact does not exist."""


class BadFileError(RemitError):
    """The content of a file is invalid."""


class BadVariableError(RemitError):
    """An environment variable is invalid."""


class ConditionError(RemitError):
    """A condition is invalid at a line and column, which count from 1."""

    def __init__(self, message: str, *, line: int = 1, column: int = 1, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.line = line
        self.column = column


class CredentialError(RemitError):
    """A credential for a server cannot be stored, found or decrypted."""


class EmbeddingError(RemitError):
    """Texts cannot be embedded."""


class IdentityError(RemitError):
    """The identity provider cannot be used now, so an access token cannot be checked."""


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


class NotInstalledError(InstallError):
    """Remit is not installed in the client."""


class NoSuchDirectoryError(RemitError):
    """The directory does not exist or cannot be used."""


class NoSuchFileError(RemitError):
    """The file does not exist."""


class NotApprovedError(RemitError):
    """A call or a write to memory needs approval; `approval_id` is the pending one, None if it was denied."""

    def __init__(self, message: str, *, approval_id: str | None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.approval_id = approval_id


class PolicyError(RemitError):
    """A policy is invalid or cannot be changed."""


class ScopeError(RemitError):
    """A call names no project, or a project that does not exist."""


class SignInError(RemitError):
    """The sign-in to a server failed."""


class StateError(RemitError):
    """A state, or a value for it, is invalid."""


class ServingError(RemitError):
    """The gateway cannot start, or cannot serve another endpoint."""


class TeamError(RemitError):
    """A team, its project or its server does not exist or is invalid."""


class TokenError(RemitError):
    """A token cannot be created, or the tokens cannot be read."""


class UnknownStateError(StateError):
    """The state is not declared."""


class ToolError(RemitError):
    """A tool is invalid or failed."""


class ArgumentsError(ToolError):
    """A tool does not accept the arguments of a call."""


class HiddenToolError(ToolError):
    """The called tool is hidden or does not exist."""


class UnknownClientError(RemitError):
    """The client is not supported."""


class UnknownProjectError(RemitError):
    """Nothing is stored about the project."""


class UnknownRoomError(RemitError):
    """The room is not declared."""


class UnknownServerError(RemitError):
    """The server is not known here."""


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


class RestartedError(UpstreamError):
    """A server restarted after its tools were listed for a call, so it may list others now."""


class NotSignedInError(UpstreamError):
    """The caller has no credential of its own for a server that needs one."""


class OwnedElsewhereError(UpstreamError):
    """Only one process may run a server, and another one does, or this one cannot prove that none does."""


class StoreError(RemitError):
    """The database cannot be used."""


class StoreUnavailableError(StoreError):
    """The database cannot be opened, read or written."""


class StoreRightsError(StoreUnavailableError):
    """The user of the database may not do this: a role is missing."""


class StoreTimeoutError(StoreUnavailableError):
    """A query took too long."""


class StoreUnreachableError(StoreUnavailableError):
    """The database server cannot be reached, or does not answer."""


class StoreRefusedError(StoreError):
    """The database does not accept a value, now or later."""


class StoreCorruptError(StoreError):
    """The database is damaged or not a Remit database."""


class StoreTooNewError(StoreError):
    """A newer version of Remit created the database."""
