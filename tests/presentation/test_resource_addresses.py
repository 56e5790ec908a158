"""Whose an address is."""

from remit.presentation.resource_addresses import ResourceAddresses, fit

LABELS = {1: "docs", 2: "files", 3: "my.files", 4: "my_files"}


def addresses(*claims: tuple[int, str], taken: tuple[str, ...] = ()) -> ResourceAddresses[int]:
    return ResourceAddresses(LABELS, claims, taken)


def test_an_address_that_one_server_has_is_written_as_that_does() -> None:
    found = addresses((1, "note://a"))
    assert found.written(1, "note://a") == "note://a"
    assert found.found("note://a") == (1, "note://a")
    assert found.written(2, "note://unlisted") == "note://unlisted"
    assert found.found("note://unlisted") is None


def test_of_two_servers_with_one_address_the_first_keeps_it_and_the_other_has_it_below_its_name() -> None:
    found = addresses((1, "note://a"), (2, "note://a"))
    assert found.written(1, "note://a") == "note://a"
    assert found.written(2, "note://a") == "remit://files/note://a"
    assert found.found("remit://files/note://a") == (2, "note://a")
    assert found.found("remit://docs/note://a") == (1, "note://a")  # as well, so that nothing else moves it


def test_what_is_taken_already_is_no_servers() -> None:
    found = addresses((1, "room://git"), taken=("room://git",))
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
