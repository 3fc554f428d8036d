"""The compile cache: keys that cannot be taken for one another, and files that are not what was written."""

from __future__ import annotations

from relmgr.smoke.cache import cache_folder, cache_key, read_cached, write_cached


def test_a_key_names_each_part_with_its_length() -> None:
    """K4: parts that join to one text are two keys."""
    assert cache_key("gfx90a", "NVRTC") != cache_key("gfx90", "aNVRTC")
    assert cache_key("a", "", "b") != cache_key("a", "b", "")
    assert cache_key("a", "b") == cache_key("a", "b")


def test_what_was_written_is_read_and_nothing_else() -> None:
    """K3: a file that was cut off or changed is compiled again, not launched."""
    key = cache_key("a", "b")
    assert read_cached(key) is None
    write_cached(key, b"binary")
    assert read_cached(key) == b"binary"
    file = cache_folder() / key
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    assert read_cached(key) is None
    file.write_bytes(whole[:-1] + b"Y")
    assert read_cached(key) is None
    file.write_bytes(b"")
    assert read_cached(key) is None


def test_the_folder_is_the_users_alone() -> None:
    write_cached(cache_key("x"), b"binary")
    assert cache_folder().stat().st_mode & 0o077 == 0
