"""B5: commands in comments are plain text at the start of a line, from people who may."""

from __future__ import annotations

from datetime import date, datetime, timezone
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from relmgr.errors import UserError
from relmgr.gate.slash_commands import new_commands, permit_commands, read_commands
from relmgr.model.project import CommandSettings, Project
from relmgr.model.slash_commands import USAGE, Commenter, Permission, SlashCommand
from relmgr.render.engine import render
from relmgr.settings import load_project, parse_toml, validate

AT = datetime(2022, 9, 1, 12, tzinfo=timezone.utc)
POLICIES = {"abi-crossing-after-cut", "ci-green", "changelog-written"}
RECHECK = SlashCommand(name="recheck", line=1)


def names(body: str | None) -> list[str]:
    return [command.name for command in read_commands(body).commands]


# -- what a command is ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/relmgr recheck", RECHECK),
        ("/relmgr  recheck \t", RECHECK),
        ("/Relmgr Recheck", RECHECK),
        ("/relmgr order", SlashCommand(name="order", line=1)),
        ("/relmgr ticket", SlashCommand(name="ticket", line=1)),
        ("/relmgr explain ci-green", SlashCommand(name="explain", line=1, policy="ci-green")),
        ("/relmgr smoke gfx90a", SlashCommand(name="smoke", line=1, arch="gfx90a")),
        ("/relmgr smoke gfx90a:sramecc+:xnack-", SlashCommand(name="smoke", line=1, arch="gfx90a:sramecc+:xnack-")),
        (
            "/relmgr waive ci-green until 2022-10-06 the runner's `disk` is *full*, see @lead",
            SlashCommand(
                name="waive",
                line=1,
                policy="ci-green",
                until=date(2022, 10, 6),
                reason="the runner's ... is full, see @lead",
            ),
        ),
    ],
)
def test_every_command_is_read(text: str, command: SlashCommand) -> None:
    found = read_commands(text, POLICIES)
    assert (found.commands, found.refused) == ((command,), ())


@pytest.mark.parametrize(
    "body",
    [
        None,
        "",
        "recheck",
        "please /relmgr recheck",
        " /relmgr recheck",  # a line of an unfenced diff, or just not the start
        "+/relmgr recheck",
        "-/relmgr recheck",
        "- /relmgr recheck",
        "1. /relmgr recheck",
        "# /relmgr recheck",
        "/relmgr recheck\n===",
        "> /relmgr recheck",
        "> quoted\n/relmgr recheck",  # still the quote: Markdown's lazy continuation
        "    /relmgr recheck",
        "\t/relmgr recheck",
        "`/relmgr recheck`",
        "`a\n/relmgr recheck\nb`",
        "```\n/relmgr recheck\n```",
        "```diff\n/relmgr recheck",
        "~~~\n/relmgr recheck\n~~~",
        "<!-- \n/relmgr recheck\n-->",
        "<!--\n\n/relmgr recheck\n",
        "text <!--\n/relmgr recheck\n--> text",
        "~~a\n/relmgr recheck\nb~~",
        "<pre>\n/relmgr recheck\n</pre>",
        "> <!--\n/relmgr recheck",  # a browser's comment outlives the quote
        "<del>\n\na\n\n/relmgr recheck\n\n</del>",
        "<code>\n\n/relmgr recheck\n\n</code>",
        "<blockquote>\n\n/relmgr recheck\n\n</blockquote>",
        "[a\n/relmgr recheck\nb](https://example.org)",
        "[/relmgr recheck](https://example.org)",
        "a | b\n--|--\n/relmgr recheck | x",
        "\\/relmgr recheck",
        "&#47;relmgr recheck",
        "**/relmgr recheck**",
        "x<br>/relmgr recheck",
        "/relmgrrecheck",
        "/relmgr-recheck",
        "/relmgr.recheck",
        "/relmgr: recheck",
        "/relmgr_bot recheck",
        "//relmgr recheck",
        "relmgr recheck",
        "@relmgr recheck",
        "[x]: /relmgr 'recheck'",
        "a\u2028/relmgr recheck",
        "a\x0b/relmgr recheck",
        "\u200b/relmgr recheck",
    ],
)
def test_this_is_no_command_and_no_look_alike_that_is_answered(body: str | None) -> None:
    found = read_commands(body)
    assert (found.commands, found.refused) == ((), ())


@pytest.mark.parametrize(
    ("text", "problem", "why"),
    [
        ("/relmgr", "unknown", "a command must follow"),
        ("/relmgr retest", "unknown", "there is no such command"),
        ("/relmgr \u212aernel", "unknown", "there is no such command"),
        ("/relmgr recheck please", "malformed", "write /relmgr recheck"),
        ("/relmgr **recheck**", "malformed", "write the command as plain text, without any markup"),
        ("/relmgr recheck <!-- hidden -->", "malformed", "write the command as plain text, without any markup"),
        ("/relmgr `recheck`", "unknown", "there is no such command"),
        ("/relmgr recheck<br>/relmgr ticket", "malformed", "write the command as plain text, without any markup"),
        ("/relmgr explain", "malformed", "write /relmgr explain POLICY"),
        ("/relmgr explain ../x", "malformed", "a policy's id is made of small letters, digits and hyphens"),
        ("/relmgr explain ci-gren", "malformed", "no policy ci-gren; did you mean ci-green?"),
        ("/relmgr smoke $(reboot)", "malformed", "write /relmgr smoke ARCH"),
        ("/relmgr smoke gfx90a gfx942", "malformed", "write /relmgr smoke ARCH"),
        ("/relmgr waive ci-green", "malformed", "write /relmgr waive POLICY until YYYY-MM-DD REASON"),
        ("/relmgr waive ci-green until 2022-10-06", "malformed", "write /relmgr waive POLICY until YYYY-MM-DD REASON"),
        (
            "/relmgr waive ci-green until 2022-10-06 ...",
            "malformed",
            "give a reason in words, of at most 1000 characters",
        ),
        (
            "/relmgr waive ci-green until tomorrow it is red",
            "malformed",
            "'tomorrow' is not a calendar date; write it as 2022-07-12",
        ),
        (
            "/relmgr waive ci-green until 2022-02-30 it is red",
            "malformed",
            "'2022-02-30' is not a calendar date; write it as 2022-07-12",
        ),
        (
            "/relmgr waive *ci-green* until 2022-10-06 it is red",
            "malformed",
            "write the command as plain text, without any markup",
        ),
        (
            "/relmgr waive ci-green until 2022-10-06 " + "x" * 1001,
            "malformed",
            "give a reason in words, of at most 1000 characters",
        ),
    ],
)
def test_what_is_not_understood_is_answered(text: str, problem: str, why: str) -> None:
    found = read_commands(text, POLICIES)
    assert found.commands == ()
    assert [(r.problem, r.why, r.line) for r in found.refused] == [(problem, why, 1)]


def test_what_is_closed_covers_nothing() -> None:
    assert names("<!-- a --> <del>x</del>\n\n</del>\n\n/relmgr recheck") == ["recheck"]


def test_several_commands_in_order_and_equal_ones_once() -> None:
    body = "Thanks!\r\n\r\n/relmgr recheck\r\n/relmgr ticket\r\nand again\r\n\r\n/relmgr recheck\r\n"
    assert [(c.name, c.line) for c in read_commands(body).commands] == [("recheck", 3), ("ticket", 4)]


def test_a_flood_is_bounded() -> None:
    body = "\n".join(f"/relmgr smoke gfx{n}" for n in range(10_000))
    found = read_commands(body)
    assert (len(found.commands), len(found.refused)) == (10, 10)
    assert {r.problem for r in found.refused} == {"too-many"}


def test_text_beyond_what_a_body_holds_is_not_read() -> None:
    assert names("x\n" * 40_000 + "/relmgr recheck") == []


# -- who may --------------------------------------------------------------------------------------------------------


def project(**commands: object) -> Project:
    chosen = CommandSettings.model_validate(commands)
    return load_project("miopen-rocmlir").model_copy(update={"owners": ("Lead",), "commands": chosen})


def permitted(text: str, by: Commenter, **commands: object) -> str:
    found = permit_commands(read_commands(text), by, project(**commands), AT)
    return "runs" if found.commands else found.refused[0].why if found.refused else "silence"


@pytest.mark.parametrize(
    ("text", "permission", "becomes"),
    [
        ("recheck", "write", "runs"),
        ("recheck", "admin", "runs"),
        ("recheck", "triage", "needs the permission 'write' on the repository, you have 'triage'"),
        ("recheck", "none", "needs the permission 'write' on the repository, you have 'none'"),
        ("recheck", None, "needs the permission 'write', and yours could not be read: try again"),
        ("explain ci-green", None, "runs"),
        ("order", "none", "runs"),
        ("smoke gfx90a", "read", "needs the permission 'write' on the repository, you have 'read'"),
        ("ticket", "maintain", "runs"),
        ("waive ci-green until 2022-10-06 it is red", "admin", "only for the project's owners: Lead"),
    ],
)
def test_the_shipped_permissions(text: str, permission: Permission | None, becomes: str) -> None:
    assert permitted(f"/relmgr {text}", Commenter(login="somebody", permission=permission)) == becomes


def test_an_owner_waives_whatever_the_letter_case_of_the_login() -> None:
    text = "/relmgr waive ci-green until 2022-10-06 it is red"
    assert permitted(text, Commenter(login="lead", permission="read")) == "runs"
    assert permitted(text, Commenter(login="lead2", permission="admin")) != "runs"


@pytest.mark.parametrize(("day", "runs"), [("2022-09-01", True), ("2022-08-31", False)])
def test_a_waiver_that_has_ended_is_refused(day: str, runs: bool) -> None:
    answer = permitted(f"/relmgr waive ci-green until {day} it is red", Commenter(login="lead"))
    assert (answer == "runs") == runs


@pytest.mark.parametrize(
    "by",
    [
        Commenter(login="helper[bot]", permission="admin"),
        Commenter(login="Helper[BOT]", permission="admin"),
        Commenter(login="lead", is_bot=True, permission="admin"),
        Commenter(login=""),
    ],
)
def test_bots_are_neither_obeyed_nor_answered(by: Commenter) -> None:
    assert permitted("/relmgr explain ci-green", by) == "silence"
    assert permitted("/relmgr nonsense", by) == "silence"


def test_a_project_says_who_may() -> None:
    somebody = Commenter(login="Vesna", permission="read")
    assert permitted("/relmgr recheck", somebody, recheck=("vesna",)) == "runs"
    assert permitted("/relmgr recheck", somebody, recheck=("other",)) == "only for other"
    assert permitted("/relmgr recheck", somebody, recheck="nobody") == "switched off in this project"
    assert permitted("/relmgr recheck", somebody, recheck="read") == "runs"
    assert permitted("/relmgr order", somebody, order="owners") == "only for the project's owners: Lead"


def test_an_unknown_command_in_the_settings_is_refused_with_its_line() -> None:
    data, lines = parse_toml('recheck = "write"\nretest = "write"\n', "x.toml")
    with pytest.raises(UserError, match=r"x\.toml:2: unknown key 'retest'"):
        validate(CommandSettings, data, lines, "x.toml")


def test_every_command_has_its_permission() -> None:
    assert set(CommandSettings.model_fields) - {"smoke_workflow"} == set(USAGE)


# -- edits, answers -------------------------------------------------------------------------------------------------


def test_m8_an_edit_runs_only_what_it_added() -> None:
    before = read_commands("/relmgr recheck\n/relmgr nonsense")
    after = read_commands("typo fixed\n\n/relmgr recheck\n/relmgr ticket\n/relmgr nonsense")
    added = new_commands(before, after)
    assert ([c.name for c in added.commands], added.refused) == (["ticket"], ())
    assert new_commands(after, after).commands == ()


def test_the_answer_lists_what_is_allowed_and_defuses_what_was_said() -> None:
    found = read_commands("/relmgr retest\\` @everyone\\`")
    text = render("comment/slash-commands.md.j2", d=found, usages=list(USAGE.values()))
    assert text.splitlines()[2] == "- `` /relmgr retest` @everyone` ``: there is no such command"
    assert " ".join(" ".join(text.splitlines()[4:]).split()) == (
        "Commands, each at the start of a line: `/relmgr recheck`, `/relmgr explain POLICY`, `/relmgr order`, "
        "`/relmgr smoke ARCH`, `/relmgr waive POLICY until YYYY-MM-DD REASON`, `/relmgr ticket`."
    )


# -- properties -----------------------------------------------------------------------------------------------------

HTML = [f"<{end}{tag}>" for tag in ("pre", "code", "details", "s", "div") for end in ("", "/")]
MARKUP = ["```", "`", "``", "<!--", "-->", "**", "[", "](u)", "<br>", "|", "--|--", "===", "\\", "&#47;"]
SPACES = ["\n", "\n\n", "> ", "- ", "1. ", "    ", "# ", " ", "\r\n", "\t", "@@ -1 +1 @@"]
FRAGMENTS = st.sampled_from(
    [*3 * ["\n/relmgr recheck\n", "/relmgr ticket\n"], "text", "+", "-", *SPACES, *MARKUP, *HTML]
)
BODIES = st.lists(FRAGMENTS, max_size=30).map("".join)


class Shown(HTMLParser):
    """The lines that a browser shows of the rendered comment, outside of quotes, code and struck text."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in ("blockquote", "code", "pre", "s"):
            self.hidden.append(tag)
        if tag in ("p", "br", "li", "div", "details"):
            self.text += "\n"

    def handle_endtag(self, tag: str) -> None:
        if tag in self.hidden:
            del self.hidden[len(self.hidden) - 1 - self.hidden[::-1].index(tag) :]
        if tag == "p":
            self.text += "\n"

    def handle_data(self, data: str) -> None:
        self.text += "" if self.hidden else data


def shown_lines(body: str) -> set[str]:
    parser = Shown()
    parser.feed(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(body))
    parser.close()
    # That renderer loses a line end before an indented tag.
    return {line.strip() for line in parser.text.replace("  ", "\n").split("\n")}


@given(BODIES)
@example("<!--\n/relmgr recheck")
@example("> a\n/relmgr recheck")
def test_what_runs_is_shown_as_it_stands_by_another_renderer(body: str) -> None:
    for command in read_commands(body).commands:
        assert f"/relmgr {command.name}" in shown_lines(body)


@given(st.text(max_size=300))
def test_any_text_is_read_and_without_an_address_nothing_is_found(body: str) -> None:
    found = read_commands(body)
    assert all(1 <= c.line <= body.count("\n") + body.count("\r") + 1 for c in (*found.commands, *found.refused))
    assert read_commands(body.replace("/", "")) == read_commands("")


@given(BODIES)
def test_a_quoted_comment_runs_nothing(body: str) -> None:
    quoted = "\n".join(f"> {line}" for line in body.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    assert names(quoted) == []


@given(BODIES)
def test_a_fenced_comment_runs_nothing(body: str) -> None:
    fence = "`" * 40
    assert names(f"{fence}diff\n{body}\n{fence}\n") == []


PLAIN = st.text(alphabet="abc ,.!", min_size=1, max_size=30).map(str.strip).filter(bool)
COMMANDS = st.one_of(
    st.sampled_from(["recheck", "order", "ticket"]).map(lambda n: (n, SlashCommand(name=n, line=1))),
    st.from_regex(r"[a-z]{1,9}(-[a-z]{1,9}){0,3}", fullmatch=True).map(
        lambda p: (f"explain {p}", SlashCommand(name="explain", line=1, policy=p))
    ),
    st.tuples(st.dates(date(2000, 1, 1), date(2099, 12, 31)), PLAIN.filter(lambda t: any(c.isalpha() for c in t))).map(
        lambda t: (
            f"waive ci-green until {t[0].isoformat()} {t[1]}",
            SlashCommand(name="waive", line=1, policy="ci-green", until=t[0], reason=" ".join(t[1].split())),
        )
    ),
)


@given(PLAIN, COMMANDS, PLAIN)
def test_a_command_between_plain_lines_reads_back(before: str, command: tuple[str, SlashCommand], after: str) -> None:
    found = read_commands(f"{before}\n/relmgr {command[0]}\n{after}")
    assert [c.model_copy(update={"line": 1}) for c in found.commands] == [command[1]]
    assert [c.line for c in found.commands] == [2]


@given(BODIES, BODIES)
def test_an_edit_never_repeats(before: str, after: str) -> None:
    old, new = read_commands(before), read_commands(after)
    added = {c.name for c in new_commands(old, new).commands}
    assert added == {c.name for c in new.commands} - {c.name for c in old.commands}
