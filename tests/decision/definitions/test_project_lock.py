"""What a lock says about packages and places."""

from dataclasses import replace

from remit.decision.definitions.project_lock import (
    LockedPackage,
    LockedServer,
    ProjectLock,
    is_of_plugin,
    lock_place,
    package_differences,
)
from remit.decision.scopes import Scope
from support.builders import declared

NOTES = LockedPackage("npm", "notes", "1.0.0")


def test_a_package_that_came_or_went_is_a_difference() -> None:
    assert list(package_differences(NOTES, None)) == ["its package was removed: notes"]
    assert list(package_differences(None, NOTES)) == ["its package was added: notes"]
    assert list(package_differences(None, None)) == []


def test_what_is_unknown_on_one_side_is_no_difference() -> None:
    assert list(package_differences(NOTES, NOTES._replace(version="unknown"))) == []
    assert list(package_differences(NOTES, NOTES._replace(version="2.0.0"))) == [
        "its package: version 1.0.0 -> 2.0.0"
    ]


def test_a_lock_has_packages_of_the_projects_servers_only() -> None:
    lock = ProjectLock(root="/shop", servers={(".mcp.json", "notes"): LockedServer("e", NOTES)})
    own = replace(declared("notes", Scope.PROJECT), source="/shop/.mcp.json")
    assert lock.package_of(own) == NOTES
    assert lock.package_of(replace(own, source="/shop/sub/.mcp.json")) is None
    assert lock.package_of(declared("notes", Scope.GLOBAL)) is None


def test_a_server_of_a_plugin_has_the_place_of_its_plugin() -> None:
    plugged = replace(declared("notes", Scope.PLUGIN), plugin="quill", project_hash="p")
    place = lock_place(plugged, "/shop")
    assert place == ("plugin quill", "notes")
    assert is_of_plugin(("plugin quill", "notes"))
