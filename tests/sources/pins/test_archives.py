"""Source archives: read once, bounded, from a file or from the forge alone, and compared with the tree (P1)."""

from __future__ import annotations

import gzip
import hashlib
import io
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from relmgr.errors import SourceError
from relmgr.sources.git.clone import Clone
from relmgr.sources.pins.archive import differing_paths, read_archive, read_archive_stream
from relmgr.sources.pins.download import ForgeArchives, forge_archives
from tests.support.archive_server import ArchiveServer
from tests.support.repositories import TestRepository, new_repository

NAME = "/acme/forge/archive/f1.tar.gz"


@pytest.fixture
def forge(tmp_path: Path) -> TestRepository:
    made = new_repository(tmp_path / "forge", "trunk")
    made.commit("one", {"a.txt": "a\n", "run.sh": "#!/bin/sh\n", "folder/b.txt": "b\n"})
    (made.path / "link").symlink_to("a.txt")
    made.commit("two", {})
    return made


@pytest.fixture
def server() -> Iterator[ArchiveServer]:
    with ArchiveServer().running() as running:
        yield running


def tar_of(forge: TestRepository) -> bytes:
    command = ["git", "-C", str(forge.path), "archive", "--prefix=forge-f1/", "trunk"]
    return subprocess.run(command, capture_output=True, check=True).stdout


def archives(server: ArchiveServer) -> ForgeArchives:
    return forge_archives("github.com", {"GITHUB_SERVER_URL": server.url})


def test_p1_the_same_tree_with_other_bytes_has_another_digest_and_no_difference(
    forge: TestRepository, tmp_path: Path
) -> None:
    tar = tar_of(forge)
    one, other = gzip.compress(tar, 9, mtime=0), gzip.compress(tar, 1, mtime=0)
    read = [read_archive_stream(io.BytesIO(data), "here") for data in (one, other)]
    assert [archive.digest for archive in read] == [
        f"sha256:{hashlib.sha256(data).hexdigest()}" for data in (one, other)
    ]
    assert read[0].digest != read[1].digest
    assert read[0].blobs == read[1].blobs
    assert read[0].commit == forge.git("rev-parse", "trunk")
    clone = Clone.open(forge.path)
    assert differing_paths(read[1], clone, "trunk") == []
    assert differing_paths(read[1], clone, "trunk~1") == []
    forge.commit("three", {"folder/b.txt": "B\n", "new.txt": "n\n"})
    assert differing_paths(read[1], Clone.open(forge.path), "trunk") == ["folder/b.txt", "new.txt"]


def test_bytes_behind_the_archives_end_count_towards_its_digest(forge: TestRepository) -> None:
    data = gzip.compress(tar_of(forge), mtime=0) + gzip.compress(b"\0" * 100_000, mtime=0)
    assert read_archive_stream(io.BytesIO(data), "here").sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    "data", [b"", b"no archive", gzip.compress(b"no tar", mtime=0), gzip.compress(b"x" * 2000, mtime=0)[:-9]]
)
def test_k3_what_is_no_archive_is_named(data: bytes, tmp_path: Path) -> None:
    file = tmp_path / "x.tar.gz"
    file.write_bytes(data)
    with pytest.raises(SourceError, match="not a gzipped tar archive"):
        read_archive(file)


def test_k3_a_header_that_would_fill_the_memory_is_refused() -> None:
    stream = io.BytesIO()
    member = tarfile.TarInfo("x")
    member.type, member.size = tarfile.XHDTYPE, 8 * 1024**3 - 1
    stream.write(member.tobuf(tarfile.USTAR_FORMAT))
    with pytest.raises(SourceError, match="a header of 8589934591 bytes"):
        read_archive_stream(io.BytesIO(gzip.compress(stream.getvalue() + b"\0" * 4096)), "here")


def test_k3_a_member_larger_than_the_bound_is_refused_before_it_is_unpacked() -> None:
    stream = io.BytesIO()
    member = tarfile.TarInfo("top/x")
    member.size = 9 * 1024**3
    stream.write(member.tobuf(tarfile.GNU_FORMAT))
    with pytest.raises(SourceError, match="larger than relmgr reads"):
        read_archive_stream(io.BytesIO(gzip.compress(stream.getvalue() + b"\0" * 4096)), "here")


@pytest.mark.parametrize("form", ["old", "1.0"])
def test_k3_a_map_of_a_sparse_file_that_goes_on_for_ever_is_refused(form: str) -> None:
    member = tarfile.TarInfo("top/x")
    if form == "old":
        member.type = tarfile.GNUTYPE_SPARSE
        header = bytearray(member.tobuf(tarfile.GNU_FORMAT))
        header[482] = 1
        header[148:156] = b"%06o\0 " % (sum(header[:148] + header[156:512]) + 8 * 32)
        # Twenty-one parts a block, and each says that another block follows.
        block = b"00000000001\0" * 42 + b"\1" + b"\0" * 7
        data = bytes(header) + block * 1000
    else:
        member.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "9"}
        member.size = 1024
        data = member.tobuf(tarfile.PAX_FORMAT) + (b"9999999\n" + b"1\n" * 252).ljust(1024, b"1")
    with pytest.raises(SourceError, match="sparse files"):
        read_archive_stream(io.BytesIO(gzip.compress(data)), "here")


# -- from the forge --------------------------------------------------------------------------------------------------


def test_the_address_is_the_one_that_cget_makes() -> None:
    at = forge_archives("github.com", {})
    assert at.url("ROCm/rocMLIR", "rocm-5.5.0") == "https://github.com/ROCm/rocMLIR/archive/rocm-5.5.0.tar.gz"
    assert at.url("a/b", "release/x y") == "https://github.com/a/b/archive/release/x%20y.tar.gz"
    assert at.hosts == ("github.com", "codeload.github.com")


def test_an_archive_is_read_through_the_forges_redirects_without_credentials(
    forge: TestRepository, server: ArchiveServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password planted-secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("GITHUB_TOKEN", "planted-secret")
    data = gzip.compress(tar_of(forge), mtime=0)
    server.answers = {NAME: f"{server.url}/acme/renamed/tar.gz/f1", "/acme/renamed/tar.gz/f1": data}
    read = archives(server).read("acme/forge", "f1")
    assert read.sha256 == hashlib.sha256(data).hexdigest()
    assert differing_paths(read, Clone.open(forge.path), "trunk") == []
    assert server.asked == [NAME, "/acme/renamed/tar.gz/f1"]
    assert all("authorization" not in headers and "cookie" not in headers for headers in server.headers)


@pytest.mark.parametrize(
    "elsewhere",
    [
        "http://github.com.evil.example/x",
        "https://127.0.0.1/x",
        "http://127.0.0.1:1/x",
        "file:///etc/passwd",
        "http://me@127.0.0.1/x",
        "//evil.example/x",
    ],
)
def test_a_redirect_away_from_the_forge_is_refused(server: ArchiveServer, elsewhere: str) -> None:
    server.answers = {NAME: elsewhere}
    with pytest.raises(SourceError, match=r"leads away from 127\.0\.0\.1"):
        archives(server).read("acme/forge", "f1")
    assert server.asked == [NAME]


def test_a_circle_of_redirects_ends(server: ArchiveServer) -> None:
    server.answers = {NAME: NAME}
    with pytest.raises(SourceError, match="too many redirects"):
        archives(server).read("acme/forge", "f1")
    assert len(server.asked) == 5


@pytest.mark.parametrize("status", [401, 404, 429, 500])
def test_a_refusal_is_named(server: ArchiveServer, status: int) -> None:
    server.answers = {NAME: status}
    with pytest.raises(SourceError, match=f"the forge answers {status}"):
        archives(server).read("acme/forge", "f1")


def test_a_download_that_breaks_off_is_no_archive(forge: TestRepository, server: ArchiveServer) -> None:
    data = gzip.compress(tar_of(forge), mtime=0)
    server.answers, server.promise = {NAME: data}, len(data) + 100
    with pytest.raises(SourceError, match="could not be downloaded"):
        archives(server).read("acme/forge", "f1")


@pytest.mark.parametrize(("bound", "said"), [({"most_bytes": 100}, "larger"), ({"most_seconds": -1.0}, "too long")])
def test_size_and_time_are_bounded(
    forge: TestRepository, server: ArchiveServer, bound: dict[str, float], said: str
) -> None:
    server.answers = {NAME: gzip.compress(tar_of(forge), mtime=0)}
    with pytest.raises(SourceError, match=said):
        replace(archives(server), **bound).read("acme/forge", "f1")  # type: ignore[arg-type]


def test_nobody_there_is_named_in_one_line() -> None:
    offline = forge_archives("github.com", {"GITHUB_SERVER_URL": "http://127.0.0.1:1"})
    with pytest.raises(SourceError) as told:
        offline.read("acme/forge", "f1")
    assert told.value.what == "could not be downloaded: the connection was refused"
    assert told.value.where == f"http://127.0.0.1:1{NAME}"


@pytest.mark.parametrize(
    "server", ["http://github.com", "ftp://x", "https://me:pw@x.example", "https://x.example/path"]
)
def test_only_https_and_a_bare_address_serve(server: str) -> None:
    with pytest.raises(SourceError, match="not an address of a forge"):
        forge_archives("github.com", {"GITHUB_SERVER_URL": server})
