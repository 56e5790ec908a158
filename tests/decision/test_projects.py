"""What projects are called."""

import pytest

from remit.decision.projects import Project, called, identify


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/code/shop", "shop"),
        ("/code/my shop/", "my-shop"),
        ("/code/läden", "l-den"),
        ("C:\\code\\shop", "shop"),
        ("/", "project"),
        ("/code/äö", "project"),
    ],
)
def test_a_project_is_called_by_its_folder_and_the_start_of_its_hash(path: str, name: str) -> None:
    project = identify(path)
    assert project.short_name == f"{name}-{project.hash[:8]}"


def test_a_project_is_found_by_its_hash_and_by_its_short_name() -> None:
    shop, blog = identify("/code/shop"), identify("/code/blog")
    assert called(shop.hash, [shop, blog]) == shop
    assert called(blog.short_name, [shop, blog]) == blog


def test_a_project_is_not_found_by_a_path_or_a_part_of_its_name() -> None:
    shop = identify("/code/shop")
    assert called("/code/shop", [shop]) is None
    assert called("shop", [shop]) is None
    assert called(shop.hash[:8], [shop]) is None


def test_a_name_that_two_projects_have_is_neithers() -> None:
    one, other = Project("/a/shop", "0123456789abcdef"), Project("/b/shop", "01234567fedcba98")
    assert called("shop-01234567", [one, other]) is None
