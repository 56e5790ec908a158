"""One-time links, sessions, and the code."""

from remit.web.browser_sessions import (
    MAX_SESSIONS,
    MAX_TRIES,
    TRY_SECONDS,
    BrowserSession,
    BrowserSessions,
    CodeAnswer,
    new_code,
    plain_code,
)

CODE = "ABCD-2345"


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def opened(sessions: BrowserSessions) -> BrowserSession:
    id = sessions.open(sessions.new_link())
    found = sessions.find(id)
    assert found is not None
    return found


def test_a_session_starts_without_the_right_to_decide() -> None:
    assert not opened(BrowserSessions(code=CODE, clock=Clock())).may_decide


def test_the_code_lets_one_session_decide_and_no_other() -> None:
    sessions = BrowserSessions(code=CODE, clock=Clock())
    mine, other = opened(sessions), opened(sessions)
    assert sessions.enter_code(mine, " abcd 2345 ") is CodeAnswer.RIGHT
    assert (mine.may_decide, other.may_decide) == (True, False)


def test_without_a_code_nothing_that_is_entered_is_right() -> None:
    sessions = BrowserSessions(code=None, clock=Clock())
    session = opened(sessions)
    assert sessions.enter_code(session, "") is CodeAnswer.NO_CODE
    assert not session.may_decide


def test_after_some_wrong_codes_even_the_right_one_waits_but_other_sessions_do_not() -> None:
    clock = Clock()
    sessions = BrowserSessions(code=CODE, clock=clock)
    mine, other = opened(sessions), opened(sessions)
    for _ in range(MAX_TRIES):
        assert sessions.enter_code(mine, "WRONG") is CodeAnswer.WRONG
    assert sessions.enter_code(mine, CODE) is CodeAnswer.TOO_MANY
    assert sessions.enter_code(other, CODE) is CodeAnswer.RIGHT
    clock.now = TRY_SECONDS + 1
    assert sessions.enter_code(mine, CODE) is CodeAnswer.RIGHT


def test_an_empty_code_is_wrong() -> None:
    sessions = BrowserSessions(code=CODE, clock=Clock())
    assert sessions.enter_code(opened(sessions), "") is CodeAnswer.WRONG


def test_the_oldest_session_ends_when_there_are_too_many() -> None:
    sessions = BrowserSessions(code=None, clock=Clock())
    ids = [sessions.open(sessions.new_link()) for _ in range(MAX_SESSIONS + 1)]
    assert [sessions.find(id) is None for id in ids] == [True] + [False] * MAX_SESSIONS


def test_no_id_names_a_session_that_was_closed_or_never_opened() -> None:
    sessions = BrowserSessions(code=None, clock=Clock())
    session = opened(sessions)
    sessions.close(session)
    assert [sessions.find(id) for id in (None, "", "unknown", "ünknown")] == [None] * 4


def test_codes_are_hard_to_guess_and_easy_to_type() -> None:
    drawn = {new_code() for _ in range(100)}
    assert len(drawn) == 100
    assert all(len(plain_code(each)) == 8 and not {*each} & {*"O0I1L"} for each in drawn)


def test_notices_are_shown_once() -> None:
    session = BrowserSession(notices=["Approved."])
    assert (session.take_notices(), session.take_notices()) == (["Approved."], [])
