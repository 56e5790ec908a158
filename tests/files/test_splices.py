import pytest

from remit.files.splices import Splice, SpliceError, apply, inverse, undo


def test_a_step_takes_out_and_puts_in_at_several_places() -> None:
    assert apply("abcdef", [Splice(1, "b", "XX"), Splice(4, "", "-")]) == "aXXcd-ef"


def test_what_a_step_did_is_taken_back() -> None:
    step = [Splice(0, "ab", ""), Splice(3, "d", "DDD"), Splice(6, "", "!")]
    assert apply(apply("abcdef", step), inverse(step)) == "abcdef"


def test_steps_are_taken_back_in_their_reverse_order() -> None:
    first, second = [Splice(0, "", "12")], [Splice(1, "2a", "")]
    assert undo("1bc", [first, second]) == "abc"


@pytest.mark.parametrize(
    "step", [[Splice(1, "x", "")], [Splice(9, "", "x")], [Splice(2, "", "x"), Splice(1, "", "y")]]
)
def test_a_step_that_does_not_fit_changes_nothing(step: list[Splice]) -> None:
    with pytest.raises(SpliceError):
        apply("abc", step)
