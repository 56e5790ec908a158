"""Signs in to remote servers and out of them, and stores their tokens."""

from collections.abc import Callable, Mapping
from enum import StrEnum

from remit.errors import SignInError
from remit.upstream.oauth.sign_in import ClientRegistration, ready_remote, registration_for, sign_in
from remit.upstream.oauth.token_store import TokenStore
from remit.upstream.upstream_model import Upstream


class SignInState(StrEnum):
    """Whether there is a token for a remote server."""

    SIGNED_IN = "signed in"
    EXPIRED = "expired"  # and nothing to renew it with
    SIGNED_OUT = "signed out"  # or it needs no sign-in


class ServerLogin:
    """The tokens of remote servers: a sign-in adds one, a sign-out deletes it."""

    def __init__(self, tokens: TokenStore, variables: Mapping[str, str], home: str) -> None:
        self._tokens = tokens
        self._variables = variables
        self._home = home

    def sign_in(
        self,
        upstream: Upstream,
        *,
        on_url: Callable[[str], None],
        open_browser: Callable[[str], None],
        client_id: str | None = None,
        client_secret: str | None = None,
        port: int = 0,
        scope: str | None = None,
    ) -> None:
        """Sign in to a remote server in the browser, and store the token.

        A given scope is requested in addition to the server's required scopes and those granted before.

        Raises:
            SignInError: the sign-in failed.
        """
        server = ready_remote(upstream, self._variables, self._home)
        launch = server.launch
        before = self._tokens.load(launch.url)
        wanted = scope if scope is None or before is None else f"{before.scope or ''} {scope}"
        given = ClientRegistration(client_id=client_id, client_secret=client_secret, port=port, scope=wanted)
        made = sign_in(server, registration_for(launch, given), on_url=on_url, open_browser=open_browser)
        self._tokens.save(launch.url, made)

    def state(self, upstream: Upstream, now: float) -> SignInState | None:
        """Tell whether there is a token for a server; None if it is not remote, or cannot be reached now."""
        try:
            token = self._tokens.load(ready_remote(upstream, self._variables, self._home).launch.url)
        except SignInError:
            return None
        if token is None:
            return SignInState.SIGNED_OUT
        is_over = token.is_expired(now) and token.refresh_token is None
        return SignInState.EXPIRED if is_over else SignInState.SIGNED_IN

    def sign_out(self, upstream: Upstream) -> bool:
        """Delete the stored token of a server; return False if there is none.

        Raises:
            SignInError: the server is not remote.
        """
        launch = ready_remote(upstream, self._variables, self._home).launch
        return self._tokens.forget(launch.url)
