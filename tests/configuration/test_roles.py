"""The order of roles."""

from remit.configuration.config_model import Role


def test_each_role_includes_those_before_it() -> None:
    assert [role for role in Role if Role.APPROVER.includes(role)] == [
        Role.READER,
        Role.USER,
        Role.APPROVER,
    ]
    assert not Role.READER.includes(Role.USER)
    assert all(map(Role.ADMIN.includes, Role))
