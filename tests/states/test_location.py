"""What a location may be."""

import pytest

from remit.errors import StateError
from remit.states.location import check_location


@pytest.mark.parametrize(
    "location",
    [
        None,
        {},
        {"page": "/blog", "route": "/blog/:id", "modal": "confirm", "depth": 2},
        {"components": ["editor"], "elements": [], "page": None},
        {"selected": {"type": "post", "id": 7}},
        {"selected": "post-7"},
    ],
)
def test_a_location_says_where_the_user_is(location: object) -> None:
    check_location(location)


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("/blog", "a location must be an object"),
        ({"pag": "/blog"}, "a location has no `pag`"),
        ({"page": 3}, "`page` of a location has the wrong type"),
        ({"depth": -1}, "`depth` of a location has the wrong type"),
        ({"depth": True}, "`depth` of a location has the wrong type"),
        ({"components": "editor"}, "`components` of a location has the wrong type"),
        ({"elements": [1]}, "`elements` of a location has the wrong type"),
    ],
)
def test_what_no_location_could_be_is_an_error(location: object, message: str) -> None:
    with pytest.raises(StateError, match=message):
        check_location(location)


def test_a_misspelt_part_is_recognised() -> None:
    with pytest.raises(StateError) as error:
        check_location({"pagee": "/blog"})
    assert error.value.hint == "did you mean `page`?"
    with pytest.raises(StateError) as error:
        check_location({"whatever-else": "/blog"})
    assert str(error.value.hint).startswith("its parts are page,")
