import pytest

from remit.errors import BadVariableError
from remit.files.bounded_reader import Machine
from remit.settings import Embeddings, data_directory, embeddings


def test_remit_home_names_the_directory_on_every_platform() -> None:
    for platform in ("linux", "darwin", "win32"):
        assert data_directory(Machine("/home/ada", {"REMIT_HOME": "/data"}, platform)) == "/data"


def test_linux_keeps_data_where_the_desktop_standard_says() -> None:
    assert data_directory(Machine("/home/ada", {}, "linux")) == "/home/ada/.local/share/remit"
    assert data_directory(Machine("/home/ada", {"XDG_DATA_HOME": "/xdg"}, "linux")) == "/xdg/remit"


def test_macos_and_windows_keep_data_where_they_keep_it() -> None:
    assert (
        data_directory(Machine("/Users/ada", {}, "darwin")) == "/Users/ada/Library/Application Support/remit"
    )
    assert data_directory(Machine("/ada", {"LOCALAPPDATA": "/local"}, "win32")) == "/local/remit"
    assert data_directory(Machine("/ada", {}, "win32")) == "/ada/AppData/Local/remit"


def test_the_bundled_table_makes_the_vectors_unless_something_else_is_asked_for() -> None:
    assert embeddings({}) == embeddings({"REMIT_EMBEDDINGS": ""}) == Embeddings("static")
    assert embeddings({"REMIT_EMBEDDINGS": " onnx "}) == Embeddings("onnx")
    assert embeddings({"REMIT_EMBEDDINGS": "none"}) == Embeddings("none")


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example.com/v1",
        "http://localhost:11434/v1",
        "http://[::1]:8080",
        "https://example.com/x/?api-version=2",
        "HTTPS://EXAMPLE.COM",
    ],
)
def test_a_url_makes_the_vectors_with_a_model_and_perhaps_a_key(url: str) -> None:
    given = {"REMIT_EMBEDDINGS": url, "REMIT_EMBEDDINGS_MODEL": "small"}
    assert embeddings(given) == Embeddings(url, "small")
    assert embeddings({**given, "REMIT_EMBEDDINGS_KEY": "sk-1\n"}) == Embeddings(url, "small", "sk-1")


@pytest.mark.parametrize(
    "value",
    [
        "statik",
        "Static",
        "https://",
        "https://ada:sk-1@example.com/v1",
        "https://example.com/v1#sk-1",
        "https://example.com:99999/v1",
        "https://example.com/sk-1 /v1",
        "https://example.com/sk-1\ud800",
        "ftp://example.com/sk-1",
        "file:///etc/sk-1",
    ],
)
def test_anything_else_is_a_mistake_and_is_not_repeated(value: str) -> None:
    with pytest.raises(BadVariableError, match="`REMIT_EMBEDDINGS`") as raised:
        embeddings({"REMIT_EMBEDDINGS": value, "REMIT_EMBEDDINGS_MODEL": "small"})
    assert "sk-1" not in f"{raised.value}{raised.value.hint}"


@pytest.mark.parametrize("model", ["", " ", "a\nb", "\ud800"])
def test_a_url_without_a_model_is_a_mistake(model: str) -> None:
    with pytest.raises(BadVariableError, match="`REMIT_EMBEDDINGS_MODEL` is not set"):
        embeddings({"REMIT_EMBEDDINGS": "https://example.com", "REMIT_EMBEDDINGS_MODEL": model})


def test_a_key_does_not_show_when_the_setting_is_printed() -> None:
    assert "sk-1" not in f"{Embeddings('https://example.com?sk-1', 'small', 'sk-1')}"


def test_how_long_a_search_waits_for_an_endpoint_is_a_setting() -> None:
    given = {"REMIT_EMBEDDINGS": "http://127.0.0.1:9/v1", "REMIT_EMBEDDINGS_MODEL": "small"}
    assert embeddings(given).wait == 0.25
    assert embeddings({**given, "REMIT_EMBEDDINGS_WAIT": " 2.5 "}).wait == 2.5


@pytest.mark.parametrize("value", ["soon", "-1", "nan", "1e9", "10000"])
def test_a_wait_that_is_no_number_of_seconds_is_an_error(value: str) -> None:
    given = {"REMIT_EMBEDDINGS": "http://127.0.0.1:9/v1", "REMIT_EMBEDDINGS_MODEL": "small"}
    with pytest.raises(BadVariableError, match="`REMIT_EMBEDDINGS_WAIT`"):
        embeddings({**given, "REMIT_EMBEDDINGS_WAIT": value})
