"""What a session is told of memory."""

from remit.memory.artifacts import DAY, ArtifactKind, Content, StoredArtifact
from remit.memory.session_start import RECENT, memory_sections, since
from remit.text.sections import assemble


def kept(kind: ArtifactKind, content: Content) -> StoredArtifact:
    return StoredArtifact(
        id="x",
        kind=kind,
        project_id="shop",
        focus=None,
        content=content,
        dated_at=0,
        created_at=0,
        updated_at=0,
    )


CHANGES, DECISIONS, FINDINGS, REFERENCES = RECENT
DECISION = kept(ArtifactKind.DECISION, {"title": "Use X", "rationale": "it is\ngood"})
CHANGE = kept(ArtifactKind.OBSERVATION, {"type": "change", "text": "moved a file"})


def test_a_new_project_is_told_its_id_alone() -> None:
    assert [section.text for section in memory_sections("shop-1", None, [(CHANGES, [])])] == [
        "## Project Memory\nproject_id: shop-1"
    ]


def test_what_is_recent_is_told_line_by_line() -> None:
    last = kept(ArtifactKind.SESSION, {"objective": "ship it", "open_items": ["a", "b"], "next_actions": []})
    found = memory_sections("shop-1", last, [(CHANGES, [CHANGE] * 12), (DECISIONS, [DECISION])])
    assert [section.text for section in found[1:]] == [
        "## Last Session\nship it\nOpen: a; b",
        "\n".join(["## Recent Changes", *["- moved a file"] * 10]),
        "## Active Decisions\n- Use X - it is good",
    ]


def test_limits_and_days_are_those_of_the_seed() -> None:
    assert [(each.limit, each.days) for each in RECENT] == [(10, 1), (5, 7), (5, 7), (3, 3)]
    assert since(FINDINGS, 100 * DAY) == 93 * DAY


def test_when_space_is_short_references_go_first_and_the_id_last() -> None:
    found = memory_sections(
        "shop-1", None, [(CHANGES, [CHANGE]), (REFERENCES, [CHANGE]), (FINDINGS, [CHANGE])]
    )
    whole = assemble(found)
    assert "References" in whole
    assert "References" not in assemble(found, budget=len(whole) - 1)
    assert assemble(found, budget=40) == "## Project Memory\nproject_id: shop-1"
