from remit.upstream.launch.sandbox_mounts import Mounts


def test_directories_are_made_before_what_is_in_them() -> None:
    mounts = Mounts()
    for path in ("/home/ada/shop/out", "/home/ada-b", "/home/ada", "/home/ada/shop"):
        mounts.add(path, "--dir")
    assert [word for word in mounts.options() if word != "--dir"] == [
        *("/home/ada", "/home/ada/shop", "/home/ada/shop/out", "/home/ada-b")
    ]
