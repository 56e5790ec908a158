import pytest

from remit.files.front_matter import MAX_FRONT_MATTER, split


@pytest.mark.parametrize(
    ("text", "fields", "body"),
    [
        (
            "---\nname: ship\ndescription: Ships it\n---\nbody\n",
            {"name": "ship", "description": "Ships it"},
            "body\n",
        ),
        ("---\r\nname: ship\r\n---\r\nbody", {"name": "ship"}, "body"),
        ("--- \nflag: true\ncount: 5\nnothing: \n---\n", {"flag": True, "count": 5, "nothing": None}, ""),
        ("---\ntools:\n  - Read\n  - Grep\n---\n", {"tools": ["Read", "Grep"]}, ""),
        ("---\ndescription: >\n  two\n  lines\n---\n", {"description": "two lines"}, ""),
        ('---\ndescription: "quoted: yes"\n---\n', {"description": "quoted: yes"}, ""),
        ("---\n---\nbody", {}, "body"),
        ("no front matter", {}, "no front matter"),
        ("\n---\nname: late\n---\n", {}, "\n---\nname: late\n---\n"),
        ("---\nnever: closed\n", {}, "---\nnever: closed\n"),
        ("---\n- a list\n---\n", {}, ""),
        ("", {}, ""),
    ],
)
def test_fields_stand_between_two_fences_at_the_top(text: str, fields: dict[str, object], body: str) -> None:
    assert split(text) == (fields, body)


def test_what_is_no_yaml_is_read_line_by_line_as_the_client_does() -> None:
    text = "---\nname: 'x'\ndescription: Use it: always\ntools: [Read\nno field here\n---\nbody"
    assert split(text) == ({"name": "x", "description": "Use it: always", "tools": "[Read"}, "body")


def test_yaml_that_may_not_be_parsed_is_read_line_by_line() -> None:
    sizes: list[int] = []

    def refuse(size: int) -> bool:
        sizes.append(size)
        return False

    assert split("---\nname: 'x'\ntools: [a]\n---\nbody", refuse) == ({"name": "x", "tools": "[a]"}, "body")
    assert sizes == [20]
    assert split("---\nname: x\n---\n", refuse) == ({"name": "x"}, "")


def test_only_the_start_of_long_front_matter_is_read() -> None:
    text = "---\nname: x\n" + "k: [a]\n" * 5_000 + "late: y\n---\nbody"
    fields, body = split(text, lambda size: size <= MAX_FRONT_MATTER)
    assert (fields["name"], "late" in fields, body) == ("x", False, "body")
