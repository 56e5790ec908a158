"""Consents to calls: bound to one call, used once, gone in time."""

from remit.store import Approval, Binding, Store
from support.builders import BLOG, SHOP
from support.stores import memory_store, sql

CALL = Binding("ada", "mcp__git__push", "d1", "a1")
MINUTE = 60_000


def wanted(id: str = "1", at: int = 0, binding: Binding = CALL) -> Approval:
    return Approval(id, binding, '{"force": true}', "destructive", at, at + 5 * MINUTE)


def request(store: Store, approval: Approval, most: int = 9) -> Approval | None:
    return store.approvals.request(approval, SHOP, forget_before=-1, most=most)


def test_an_approval_is_used_once_and_for_its_call_alone() -> None:
    store = memory_store()
    assert request(store, wanted()) == wanted()
    assert store.approvals.use(CALL, SHOP, 1) is None
    assert store.approvals.answer("1", SHOP, 2, is_approved=True) is not None
    others = [CALL._replace(arguments="a2"), CALL._replace(caller="bob"), CALL._replace(definition="d2")]
    assert [store.approvals.use(other, SHOP, 3) for other in others] == [None] * 3
    assert store.approvals.use(CALL, BLOG, 3) is None
    used = store.approvals.use(CALL, SHOP, 3)
    assert used is not None
    assert used.used_at == 3
    assert store.approvals.use(CALL, SHOP, 4) is None


def test_the_same_call_has_one_open_request_and_there_are_not_too_many() -> None:
    store = memory_store()
    request(store, wanted("1"))
    assert request(store, wanted("2", at=1)) == wanted("1")
    assert request(store, wanted("3", binding=CALL._replace(arguments="a2")), most=1) is None
    assert store.approvals.waiting(SHOP, 2) == [wanted("1")]
    assert store.approvals.waiting(BLOG, 2) == []
    assert store.approvals.find("1", BLOG) is None


def test_a_denial_is_told_once() -> None:
    store = memory_store()
    request(store, wanted("1"))
    store.approvals.answer("1", SHOP, 1, is_approved=False)
    denied = request(store, wanted("2", at=2))
    assert denied is not None
    assert (denied.id, denied.is_approved) == ("1", False)
    assert request(store, wanted("3", at=3)) == wanted("3", at=3)


def test_arguments_are_erased_when_answered_or_expired() -> None:
    store = memory_store()
    request(store, wanted("1"))
    answered = store.approvals.answer("1", SHOP, 1, is_approved=True)
    assert answered is not None
    assert answered.shown == ""
    request(store, wanted("2", binding=CALL._replace(arguments="a2")))
    request(store, wanted("3", at=6 * MINUTE, binding=CALL._replace(arguments="a3")))
    assert sql(store, "select id, shown from approvals order by id") == [
        ("1", ""),
        ("2", ""),
        ("3", '{"force": true}'),
    ]
    assert store.approvals.answer("2", SHOP, 6 * MINUTE, is_approved=True) is None


def test_a_request_from_the_future_does_not_count() -> None:
    store = memory_store()
    request(store, wanted("1", at=2 * MINUTE))
    assert store.approvals.waiting(SHOP, 0) == []
    assert store.approvals.answer("1", SHOP, 0, is_approved=True) is None
    assert store.approvals.waiting(SHOP, MINUTE) != []
