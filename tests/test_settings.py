from remit.settings import data_directory


def test_remit_home_names_the_directory_on_every_platform() -> None:
    for platform in ("linux", "darwin", "win32"):
        assert data_directory({"REMIT_HOME": "/data"}, platform, "/home/ada") == "/data"


def test_linux_keeps_data_where_the_desktop_standard_says() -> None:
    assert data_directory({}, "linux", "/home/ada") == "/home/ada/.local/share/remit"
    assert data_directory({"XDG_DATA_HOME": "/xdg"}, "linux", "/home/ada") == "/xdg/remit"


def test_macos_and_windows_keep_data_where_they_keep_it() -> None:
    assert data_directory({}, "darwin", "/Users/ada") == "/Users/ada/Library/Application Support/remit"
    assert data_directory({"LOCALAPPDATA": "/local"}, "win32", "/ada") == "/local/remit"
    assert data_directory({}, "win32", "/ada") == "/ada/AppData/Local/remit"
