"""Reading and rewriting pins in one file (P2, P3, P6, P16)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relmgr.errors import UserError
from relmgr.model.project import Repository, Site
from relmgr.sources.pins.sites import Intent, parse_gitlink, parse_site, ref_kind, rewrite

SHA = "a" * 40
NEW = "b" * 40
PROVIDER = Repository(
    slug="acme/compiler",
    aliases=("oldacme/compiler", "acme/old-name"),
    release_tags=r"^v\d+\.\d+\.\d+$",
    release_branches=r"^release/(?P<train>\d+\.\d+)$",
)
CGET = Site(kind="cget", path="requirements.txt")
COMMAND = Site(kind="cget-command", path="Dockerfile")
SHELL = Site(kind="shell-variable", path="Dockerfile", variable="COMPILER_COMMIT")
ONE = Site(kind="one-line", path="compiler.pin")
CMAKE = Site(kind="cmake-variable", path="CMakeLists.txt", variable="COMPILER_TAG")


def read(text: str, site: Site = CGET) -> list[tuple[int | None, str | None, str, str | None, tuple[str, ...]]]:
    found = [item.pin for item in parse_site(text.encode(), site, PROVIDER)]
    return [(pin.line, pin.repository, pin.ref, pin.digest, pin.options) for pin in found]


def test_cget_line_with_everything() -> None:
    line = f"acme/compiler@{SHA}  -H sha256:{'c' * 64} -DFAT=1 -DPATHS=\"/a b;/c\" -DX='y z' # why\n"
    assert read("# head\nboost@1.79\n" + line) == [
        (3, "acme/compiler", SHA, "sha256:" + "c" * 64, ("-DFAT=1", '-DPATHS="/a b;/c"', "-DX='y z'"))
    ]


@pytest.mark.parametrize(
    "text",
    [
        f"# acme/compiler@{SHA}\n",
        f"  #acme/compiler@{SHA}\n",
        f"acme/compiler2@{SHA}\n",
        f"other/compiler@{SHA}\n",
        f"boost@1.79 # acme/compiler@{SHA}\n",
        "",
    ],
)
def test_p3_what_is_not_live_is_never_read(text: str) -> None:
    assert read(text) == []


def test_p3_a_commented_pin_is_never_edited() -> None:
    text = f"# acme/compiler@{SHA}\nacme/compiler@{SHA}\n".encode()
    assert rewrite(text, CGET, PROVIDER, Intent(ref=NEW)) == f"# acme/compiler@{SHA}\nacme/compiler@{NEW}\n".encode()


def test_p6_former_names_and_letter_case_are_the_same_project() -> None:
    assert [r[1] for r in read("OldAcme/Compiler@v1.0.0\nacme/old-name@v1.0.1\n")] == [
        "OldAcme/Compiler",
        "acme/old-name",
    ]


def test_ref_kinds_by_spelling() -> None:
    assert ref_kind(SHA, PROVIDER) == "sha"
    assert ref_kind("v1.2.3", PROVIDER) == "tag"
    assert ref_kind("release/1.2", PROVIDER) == "branch"
    assert ref_kind("main", PROVIDER) == "branch"
    assert ref_kind("nightly", PROVIDER) is None


@pytest.mark.parametrize(
    ("before", "intent", "after"),
    [
        # double blanks, quoted option with ';', trailing blank, no final newline
        (
            f'acme/compiler@{SHA}  -DP="/a;/b c"  -DQ=1 ',
            Intent(ref=NEW),
            f'acme/compiler@{NEW}  -DP="/a;/b c"  -DQ=1 ',
        ),
        # CRLF, and a byte that is not UTF-8 elsewhere
        (
            f"x@1 # caf\udce9\r\nacme/compiler@{SHA} -DQ=1\r\n",
            Intent(ref=NEW),
            f"x@1 # caf\udce9\r\nacme/compiler@{NEW} -DQ=1\r\n",
        ),
        # P16: the whole digest token is replaced, never `sha256:sha256:`
        (
            f"acme/compiler@v1.0.0 -H sha256:{'0' * 64} -DQ=1\n",
            Intent(ref="v1.1.0", digest="sha256:" + "1" * 64),
            f"acme/compiler@v1.1.0 -H sha256:{'1' * 64} -DQ=1\n",
        ),
        # a digest is added where there was none, and dropped with its switch
        (
            "acme/compiler@v1.0.0 -DQ=1\n",
            Intent(ref="v1.1.0", digest="sha256:" + "1" * 64),
            f"acme/compiler@v1.1.0 -H sha256:{'1' * 64} -DQ=1\n",
        ),
        (
            f"acme/compiler@v1.0.0  -H sha256:{'0' * 64}  -DQ=1\n",
            Intent(ref=NEW, drop_digest=True),
            f"acme/compiler@{NEW}  -DQ=1\n",
        ),
        # repository and flag renamed in the same step; a longer flag of the same start is left alone
        (
            f"acme/old-name@{SHA} -DBUILD_OLD=1 -DBUILD_OLDER=1\n",
            Intent(ref=NEW, repository="acme/compiler", flags=(("BUILD_OLD", "BUILD_NEW"),)),
            f"acme/compiler@{NEW} -DBUILD_NEW=1 -DBUILD_OLDER=1\n",
        ),
    ],
)
def test_p2_p16_rewriting_keeps_every_other_byte(before: str, intent: Intent, after: str) -> None:
    result = rewrite(before.encode("utf-8", "surrogateescape"), CGET, PROVIDER, intent)
    assert result == after.encode("utf-8", "surrogateescape")


def test_p16_a_ref_that_would_not_read_back_is_refused() -> None:
    with pytest.raises(UserError, match="does not read back"):
        rewrite(f"acme/compiler@{SHA}\n".encode(), CGET, PROVIDER, Intent(ref="two words"))


def test_rewriting_a_file_without_a_pin_is_refused() -> None:
    with pytest.raises(UserError, match="no live pin"):
        rewrite(b"boost@1.79\n", CGET, PROVIDER, Intent(ref=NEW))


DOCKERFILE = f"""FROM base
# RUN cget install acme/compiler@{"d" * 40}
RUN env PATH=/opt/cmake/bin:$PATH \\
    cget -p /usr/local install \\
    # a comment between
    acme/compiler@{SHA} -DMIXR=On \\
    -DZSTD=Off && cget install other/thing@v1
"""


def test_cget_command_over_continuation_lines() -> None:
    assert read(DOCKERFILE, COMMAND) == [(6, "acme/compiler", SHA, None, ("-DMIXR=On", "-DZSTD=Off"))]


def test_p2_cget_command_is_rewritten_in_place() -> None:
    result = rewrite(DOCKERFILE.encode(), COMMAND, PROVIDER, Intent(ref=NEW))
    assert result == DOCKERFILE.replace(SHA, NEW).encode()


SHELL_FILE = f"""FROM base
RUN git clone https://github.com/other/unrelated.git && cd unrelated
# export COMPILER_COMMIT={"e" * 40}
RUN if [ "$USE" = "ON" ]; then export COMPILER_COMMIT={SHA} && \\
    wget https://www.github.com/oldacme/compiler/archive/$COMPILER_COMMIT.tar.gz && \\
    tar xf $COMPILER_COMMIT.tar.gz; fi
"""


def test_shell_variable_takes_the_repository_from_the_line_beside_it() -> None:
    assert read(SHELL_FILE, SHELL) == [(4, "oldacme/compiler", SHA, None, ())]


def test_shell_variable_of_another_project_is_not_ours() -> None:
    assert read(SHELL_FILE.replace("oldacme/compiler", "someone/else"), SHELL) == []


@pytest.mark.parametrize(
    "line", [f"ARG COMPILER_COMMIT={SHA}", f'ENV COMPILER_COMMIT="{SHA}"', f"ENV COMPILER_COMMIT {SHA}"]
)
def test_shell_variable_in_arg_and_env(line: str) -> None:
    text = f"{line}\nRUN git clone https://github.com/acme/compiler && git checkout $COMPILER_COMMIT\n"
    assert [row[2] for row in read(text, SHELL)] == [SHA]


def test_shell_variable_rewrites_ref_and_repository() -> None:
    result = rewrite(SHELL_FILE.encode(), SHELL, PROVIDER, Intent(ref=NEW, repository="acme/compiler"))
    assert result == SHELL_FILE.replace(SHA, NEW).replace("oldacme/compiler", "acme/compiler").encode()


def test_one_line_file() -> None:
    assert read(f"# the compiler\n\n{SHA}", ONE) == [(3, "acme/compiler", SHA, None, ())]
    assert rewrite(f"{SHA} \r\n".encode(), ONE, PROVIDER, Intent(ref=NEW)) == f"{NEW} \r\n".encode()


def test_cmake_variable() -> None:
    text = (
        f'# set(COMPILER_TAG "{"f" * 40}")\nset( COMPILER_TAG "{SHA}" CACHE STRING "the pin")\n'
        "FetchContent_Declare(c GIT_REPOSITORY https://github.com/acme/old-name.git GIT_TAG ${COMPILER_TAG})\n"
    )
    assert read(text, CMAKE) == [(2, "acme/old-name", SHA, None, ())]
    assert rewrite(text.encode(), CMAKE, PROVIDER, Intent(ref=NEW)) == text.replace(SHA, NEW).encode()


def test_gitlink_takes_the_repository_from_gitmodules() -> None:
    site = Site(kind="gitlink", path="third_party/compiler")
    modules = (
        b'[submodule "x"]\n\tpath = third_party/x\n\turl = https://github.com/a/x.git\n'
        b'[submodule "compiler"]\n\tpath = third_party/compiler\n\turl = git@github.com:oldacme/compiler.git\n'
    )
    pin = parse_gitlink(SHA, modules, site, PROVIDER)
    assert (pin.repository, pin.ref, pin.ref_kind, pin.line) == ("oldacme/compiler", SHA, "sha", None)


def test_a_line_of_a_hundred_thousand_is_found() -> None:
    text = "\n".join(f"acme/pkg{n}@v{n} -DX=1" for n in range(100_000)) + f"\nacme/compiler@{SHA}\n"
    assert [row[0] for row in read(text)] == [100_001]


def test_binary_and_oversized_files_hold_no_pin() -> None:
    assert parse_site(f"acme/compiler@{SHA}\n\0".encode(), CGET, PROVIDER) == []
    assert parse_site(f"acme/compiler@{SHA}\n".encode() + b"#" * (9 << 20), CGET, PROVIDER) == []


@given(st.binary(max_size=400), st.sampled_from([CGET, COMMAND, SHELL, ONE, CMAKE]))
def test_no_bytes_crash_the_reader(data: bytes, site: Site) -> None:
    for around in (data, b"acme/compiler@" + data, b"cget install acme/compiler@x " + data, b"COMPILER_COMMIT=" + data):
        for found in parse_site(around, site, PROVIDER):
            text = around.decode("utf-8", "surrogateescape")
            assert text[found.ref.start : found.ref.end] in (found.pin.ref, "")


@given(
    st.text(alphabet="abc/@-H: \"'\\\t#;&|\r\nD=.", max_size=200), st.sampled_from([CGET, COMMAND, SHELL, ONE, CMAKE])
)
def test_p2_an_edit_changes_only_the_ref(noise: str, site: Site) -> None:
    pins = f"RUN cget install acme/compiler@{SHA} -DX=1\nCOMPILER_COMMIT={SHA}\nset(COMPILER_TAG {SHA})\n"
    text = f"{noise}\n{pins}".encode()
    try:
        result = rewrite(text, site, PROVIDER, Intent(ref=NEW))
    except UserError:
        return
    found = parse_site(text, site, PROVIDER)
    expected = text.decode()
    for item in sorted(found, key=lambda item: -item.ref.start):
        expected = expected[: item.ref.start] + NEW + expected[item.ref.end :]
    assert result == expected.encode()
