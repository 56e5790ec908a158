"""Whose an address is."""

from remit.presentation.resource_addresses import ResourceAddresses, fit

LABELS = {1: "docs", 2: "files", 3: "my.files", 4: "my_files"}


def addresses(
    *claims: tuple[int, str], taken: tuple[str, ...] = (), before: ResourceAddresses[int] | None = None
) -> ResourceAddresses[int]:
    return ResourceAddresses(LABELS, claims, taken, before)


def test_an_address_that_one_server_has_is_written_as_that_does() -> None:
    found = addresses((1, "note://a"))
    assert found.written(1, "note://a") == "note://a"
    assert found.found("note://a") == (1, "note://a")
    assert found.written(2, "note://unlisted") == "note://unlisted"
    assert found.found("note://unlisted") is None


def test_of_two_servers_with_one_address_each_has_it_below_its_name() -> None:
    found = addresses((1, "note://a"), (2, "note://a"))
    assert found.written(1, "note://a") == "remit://docs/note://a"
    assert found.written(2, "note://a") == "remit://files/note://a"
    assert found.found("remit://files/note://a") == (2, "note://a")
    assert found.found("remit://docs/note://a") == (1, "note://a")
    assert found.found("note://a") is None  # it is known, and nobody's
    assert found.is_known("note://a")
    assert not found.is_known("note://b")


def test_whoever_had_an_address_keeps_it_when_others_list_it() -> None:
    before = addresses((2, "note://a"))
    found = addresses((1, "note://a"), (2, "note://a"), (3, "note://a"), before=before)
    assert found.found("note://a") == (2, "note://a")
    assert found.written(1, "note://a") == "remit://docs/note://a"
    assert addresses((1, "note://a"), (3, "note://a"), before=before).found("note://a") is None


def test_an_address_without_a_scheme_is_written_below_its_servers_name() -> None:
    found = addresses((1, "{+any}"), (1, "note://{id}"))
    assert found.written(1, "{+any}") == "remit://docs/{+any}"
    assert found.written(1, "note://{id}") == "note://{id}"


def test_what_is_taken_already_is_no_servers() -> None:
    before = addresses((1, "room://git"))
    found = addresses((1, "room://git"), taken=("room://git",), before=before)
    assert found.written(1, "room://git") == "remit://docs/room://git"
    assert found.found("room://git") is None


def test_no_server_has_an_address_that_says_that_it_is_anothers() -> None:
    found = addresses((1, "remit://files/note://a"))
    assert found.found("remit://files/note://a") == (2, "note://a")
    assert found.written(1, "remit://files/note://a") == "remit://docs/remit://files/note://a"
    assert found.found("remit://docs/remit://files/note://a") == (1, "remit://files/note://a")


def test_servers_whose_names_are_written_alike_are_told_apart() -> None:
    found = addresses((1, "x:"), (3, "x:"), (4, "x:"))
    assert found.written(3, "x:") == "remit://my_files/x:"
    assert found.written(4, "x:").startswith("remit://my_files_")
    assert found.found(found.written(4, "x:")) == (4, "x:")


def test_a_server_that_is_not_served_any_more_writes_its_addresses_itself() -> None:
    assert addresses((1, "note://a")).written(9, "note://a") == "note://a"


def test_below_what_is_no_server_there_is_nothing() -> None:
    found = addresses()
    assert [found.found(f"remit://{rest}") for rest in ("nobody/x", "docs/", "docs", "")] == [None] * 4


def test_a_template_fits_the_addresses_that_could_be_made_of_it() -> None:
    assert fit("file:///{path}", "file:///a/b") == len("file:///")
    assert fit("file:///docs/{page}{?q}", "file:///docs/x?q=1") == len("file:///docs/")
    assert fit("file:///{path}", "http://a") is None
    assert fit("a://b", "a://b") == 5
    assert fit("{" * 5_000, "x") is None


def test_a_template_without_a_scheme_fits_nothing() -> None:
    assert fit("{+any}", "file:///a") is None
    assert fit("{scheme}://a", "file://a") is None


def test_a_page_below_its_server_never_takes_the_address_of_another_page() -> None:
    claims = [("one", "ui://view"), ("two", "ui://view"), ("three", "ui://two/view")]
    addresses = ResourceAddresses({"one": "one", "two": "two", "three": "three"}, claims)
    assert addresses.written("three", "ui://two/view") == "ui://two/view"
    assert addresses.written("one", "ui://view") == "ui://one/view"
    assert addresses.written("two", "ui://view") == "ui://two_/view"
    assert addresses.found("ui://two/view") == ("three", "ui://two/view")
    assert addresses.found("ui://two_/view") == ("two", "ui://view")
    assert addresses.found("ui://one/view") == ("one", "ui://view")
    assert addresses.found("ui://view") is None
    assert addresses.below_server("ui://one/other") == ("one", "ui://other")
    assert addresses.below_server("ui://one") is None
    assert addresses.below_server("file://one/other") is None
