"""When two texts say the same."""

import pytest

from remit.trust.same_text import same_text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Finds notes.", "finds notes"),
        ("Finds notes.", "Finds\n notes."),
        (
            "Finds Ada's \u201cnotes\u201d \u2013 all of them\u2026",
            'Finds Ada\u2019s "notes" - all of them...',
        ),
        ("A note (Draft).", "a Note (draft)."),
        ("It's Read-only.", "it's read-only."),
        ("Café", "Cafe\u0301"),
        ("As of 2026-11-16.", "As of 2026-12-24."),
        ("Version 1.2", "Version 1.3"),
        ("Runs v2.0 of it.", "Runs v2.1 of it."),
        ("Since 2026.8.31, too.", "Since 2026.10.2, too."),
        ("Reads /home/ada/notes.", "Reads /home/bob.smith/notes."),
        ("Reads /Users/ada.", "Reads /Users/bob."),
        (r"Reads C:\Users\ada\notes.", r"Reads C:\Users\bob\notes."),
        ("Writes /tmp/tmpk3j9x_2a/log.", "Writes /tmp/tmpq81ls0_b/log."),
        ("Writes /var/folders/zz/x1/T/notes-a1b2.", "Writes /var/folders/zz/x1/T/notes-c3d4."),
        ("/home/ada and /home/ada/a and v1.2", "/home/bob and /home/bob/a and v1.3"),
    ],
)
def test_typography_and_what_varies_from_start_to_start_make_no_difference(before: str, after: str) -> None:
    assert same_text(before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Does not delete.", "Does delete."),
        ("Finds notes.", "Finds notes. Sorted."),
        ("Finds notes. Sorted.", "Finds notes."),
        ("Finds notes", "FINDS notes"),
        ("Finds JSON", "Finds Json"),
        ("No. Deletes.", "No deletes."),
        ("Finds 30 notes.", "Finds 60 notes."),
        ("Costs 1.5.", "Costs 9.5."),
        ("Finds notes.", "Finds notes \U0001f150."),
        ("Finds notes.", "Finds no\u200btes."),
        ("At 10.0.0.5.", "At 10.0.0.6."),
        ("At 1.2.3:80.", "At 1.2.4:80."),
        ("Needs notes@1.2.3.", "Needs notes@1.2.4."),
        ("Needs 1.2.3-rc.", "Needs 1.2.4-rc."),
        ("At https://x.test/Abc.", "At https://x.test/abc."),
        ("At https://x.test/home/ada.", "At https://x.test/home/bob."),
        ("As of 2026-11-16.", "As of version 1.2."),
        ("Reads /home/ada/notes.", "Reads /Users/ada/notes."),
        ("Reads /home/ada/notes.", "Reads /home/ada/mail."),
        ("Reads /home/ada/notes.", "Reads /home/ada/.ssh."),
        ("Reads /home/ada/notes.", "Reads /home/password/notes."),
        ("Reads /home/<user>/notes.", "Reads /home/ada/notes."),
        ("Writes /tmp/tmpk3j9x_2a.", "Writes /tmp/all-that-the-user-said."),
        ("1.1.1 and 2.2.2 and 3.3.3", "1.1.9 and 2.2.9 and 3.3.9"),
    ],
)
def test_every_other_word_number_and_symbol_counts(before: str, after: str) -> None:
    assert not same_text(before, after)
