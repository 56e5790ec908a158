"""Every error Remit raises on purpose.

RemitError
├── AgentError                an agent cannot be put to work as it is defined
├── ApprovalError             something cannot be approved, or not any more
│   └── UnknownApprovalError  nothing of this name was asked here
├── ArtifactError             an artifact of memory, or a call about it, breaks a rule
│   └── UnknownArtifactError  no artifact of this name is kept here
├── BadFileError              a file that was named holds something else than it should
├── BadVariableError          an environment variable cannot be used
├── ConditionError            a condition cannot be read
├── EmbeddingError            texts cannot be turned into vectors
├── InstallError              Remit cannot be put into a client, or taken out of it
│   ├── FileChangeError       a client's file cannot be changed safely
│   └── NotInstalledError     nothing of Remit is in this client
├── NoSuchDirectoryError      the directory asked about cannot be used
├── NoSuchFileError           a file that was named does not exist
├── NotApprovedError          a write needs a person's approval, and has none
├── PolicyError               a policy cannot be what it is said to be
├── ScopeError                a call names no project, or one that does not exist
├── SignInError               a server cannot be signed in to
├── StateError                states cannot be what they are said to be
│   └── UnknownStateError     no state of this name is declared here
├── ServingError              the gateway cannot be started as it was asked for
├── TokenError                a token cannot be made, or the tokens cannot be read
├── ToolError                 a tool cannot be made of what it is to be made of
│   ├── ArgumentsError        a tool was called with arguments that it does not take
│   └── HiddenToolError       a tool that was called is hidden, or is none
├── UnknownClientError        no client of this name is supported
├── UnknownProjectError       nothing is stored about this project
├── UnknownRoomError          no room of this name is declared here
├── UnknownServerError        no server of this name is known here
├── UpstreamError             a server cannot be reached, or does not answer as the protocol asks
└── StoreError
    ├── StoreUnavailableError   the database cannot be opened, read or written
    │   └── StoreTimeoutError   an answer took longer than it may
    ├── StoreCorruptError       the database is damaged, or is something else
    └── StoreTooNewError        a newer Remit made this database
"""


class RemitError(Exception):
    """Something that was asked for cannot be done."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class AgentError(RemitError):
    """An agent cannot be put to work as it is defined."""


class ApprovalError(RemitError):
    """Something cannot be approved, or not any more."""


class UnknownApprovalError(ApprovalError):
    """Nothing of this name was asked here."""


class ArtifactError(RemitError):
    """An artifact of memory, or a call about it, breaks a rule; `field` names where, `rule` says which."""

    def __init__(self, field: str, rule: str, got: str, *, hint: str | None = None) -> None:
        super().__init__(f"`{field}` must be {rule}, and is {got}", hint=hint)
        self.field = field
        self.rule = rule
        self.got = got


class UnknownArtifactError(ArtifactError):
    """No artifact of this name is kept here."""


class BadFileError(RemitError):
    """A file that was named holds something else than it should."""


class BadVariableError(RemitError):
    """An environment variable cannot be used."""


class ConditionError(RemitError):
    """A condition cannot be read, at a line and a column of its text; both count from 1."""

    def __init__(self, message: str, *, line: int = 1, column: int = 1, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.line = line
        self.column = column


class EmbeddingError(RemitError):
    """Texts cannot be turned into vectors."""


class InstallError(RemitError):
    """Remit cannot be put into a client, or taken out of it."""


class FileChangeError(InstallError):
    """A client's file cannot be changed safely."""


class NotInstalledError(InstallError):
    """Nothing of Remit is in this client."""


class NoSuchDirectoryError(RemitError):
    """The directory asked about cannot be used."""


class NoSuchFileError(RemitError):
    """A file that was named does not exist."""


class NotApprovedError(RemitError):
    """A write needs a person's approval, and has none; `approval_id` names what waits for it."""

    def __init__(self, message: str, *, approval_id: str | None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.approval_id = approval_id


class PolicyError(RemitError):
    """A policy cannot be what it is said to be."""


class ScopeError(RemitError):
    """A call names no project, or one that does not exist."""


class SignInError(RemitError):
    """A server cannot be signed in to."""


class StateError(RemitError):
    """States cannot be what they are said to be."""


class ServingError(RemitError):
    """The gateway cannot be started as it was asked for."""


class TokenError(RemitError):
    """A token cannot be made, or the tokens cannot be read."""


class UnknownStateError(StateError):
    """No state of this name is declared here."""


class ToolError(RemitError):
    """A tool cannot be made of what it is to be made of."""


class ArgumentsError(ToolError):
    """A tool was called with arguments that it does not take."""


class HiddenToolError(ToolError):
    """A tool that was called is hidden here and now, or is none at all."""


class UnknownClientError(RemitError):
    """No client of this name is supported."""


class UnknownProjectError(RemitError):
    """Nothing is stored about this project."""


class UnknownRoomError(RemitError):
    """No room of this name is declared here."""


class UnknownServerError(RemitError):
    """No server of this name is known here."""


class UpstreamError(RemitError):
    """A server cannot be reached, or does not answer as the protocol asks; what it wrote last comes along."""

    def __init__(self, message: str, *, hint: str | None = None, output: tuple[str, ...] = ()) -> None:
        super().__init__(message, hint=hint)
        self.output = output


class StoreError(RemitError):
    """The database cannot be used."""


class StoreUnavailableError(StoreError):
    """The database cannot be opened, read or written."""


class StoreTimeoutError(StoreUnavailableError):
    """An answer took longer than it may."""


class StoreCorruptError(StoreError):
    """The database is damaged, or is something else."""


class StoreTooNewError(StoreError):
    """A newer Remit made this database."""
