"""Notes from facts: headings and what decides them, picks once, words of strangers, what is missing."""

from __future__ import annotations

import re
from datetime import datetime, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from relmgr.gate.note_databases import compare_databases
from relmgr.gate.note_headings import choose_heading, guess_heading, read_category
from relmgr.gate.notes import fold_into_pull_request, make_notes, section_title
from relmgr.gate.notes_check import Told, check_pull_request, find_missing
from relmgr.model.abi import AbiVersion
from relmgr.model.audit import AuditFinding, ReleaseFacts
from relmgr.model.base import Convention, Level, Outcome
from relmgr.model.databases import DatabaseFact, Introduction
from relmgr.model.notes import (
    Fragment,
    NoteEntry,
    Notes,
    NotesFacts,
    ProviderRange,
    PullText,
    RangeCommit,
    RangeFacts,
    SamePatch,
    SideFacts,
)
from relmgr.model.notes_settings import NotesSettings
from relmgr.model.pins import AbiChange, AbiEvidence, PinChange, PinSide, PinState
from relmgr.model.ticket import ScannedFile
from relmgr.render.foreign import fragment as defuse_markdown
from relmgr.render.foreign import md as defuse
from relmgr.render.notes import render_notes
from relmgr.sources.notes.range import parse_commit

AT = datetime(2030, 5, 1, 12, tzinfo=timezone.utc)
SETTINGS = NotesSettings(title="Gadget {tag}", labels={"speed": "Optimized"}, user_caches="`*.ukdb`")


def commit(number: int, subject: str, body: str = "") -> RangeCommit:
    return parse_commit(f"{number:040x}", "", "A Maintainer", AT.isoformat(), subject, body)


def abi(number: int | None) -> AbiVersion:
    convention: Convention = {41: "memref-descriptor", 50: "bare-pointer"}.get(number or 0, "unknown")  # type: ignore[assignment]
    return AbiVersion(
        provider="acme/forge",
        ref=f"f{number}",
        macro="FORGE_KERNEL_ABI",
        number=number,
        convention=convention,
        confidence="read" if number else None,
        source="the header",
    )


def facts(
    *commits: RangeCommit,
    pulls: tuple[PullText, ...] | None = None,
    fragments: tuple[Fragment, ...] = (),
    elsewhere: tuple[SamePatch, ...] = (),
    missing: tuple[RangeCommit, ...] = (),
    twice: tuple[SamePatch, ...] = (),
    numbers: tuple[int | None, int | None] = (41, 41),
    pin_changes: tuple[PinChange, ...] = (),
    databases: tuple[tuple[DatabaseFact, ...], tuple[DatabaseFact, ...]] = ((), ()),
    scans: tuple[ScannedFile, ...] = (),
) -> NotesFacts:
    state = PinState(commit="b" * 40, pin=None, sites=())
    return NotesFacts(
        consumer="acme/gadget",
        provider="acme/forge",
        forge="github.com",
        range_=RangeFacts(
            from_="v1",
            from_commit="a" * 40,
            to="v2",
            to_commit="b" * 40,
            to_at=AT,
            commits=commits,
            missing=missing,
            elsewhere=elsewhere,
            twice=twice,
        ),
        version=None,
        pulls=pulls,
        fragments=fragments,
        pin_changes=pin_changes,
        before=SideFacts(state=state, abi=abi(numbers[0]), databases=databases[0]),
        after=ReleaseFacts(
            tag="v2",
            commit="b" * 40,
            tagged_at=AT,
            state=state,
            abi=abi(numbers[1]),
            crossing=pin_changes[0] if pin_changes else None,
            databases=databases[1],
        ),
        provider_range=ProviderRange(repository="acme/forge", old=None, new=None, direction="same", facts=None),
        scans=scans,
    )


def under(notes: Notes) -> dict[str, list[str]]:
    return {section.heading: [entry.text for entry in section.entries] for section in notes.sections}


# -- headings -------------------------------------------------------------------------------------------------------

BLOCK = """\
What it does.

## Changelog Category
<!-- Tick one
- [x] Removed: from a comment
-->
- [ ] Added: New functionality.
- [{changed}] Changed: Changes to existing functionality.
- [{resolved}] **Resolved Issues**: Known issues from a previous version that have been resolved.
- [{none}] Not Applicable: This PR is not to be included in the changelog.

## Tests
- [x] Added: tests
"""


def block(**ticked: str) -> str:
    return BLOCK.format(**({"changed": " ", "resolved": " ", "none": " "} | ticked)).replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("body", "ticked"),
    [
        (block(resolved="x"), ["Resolved Issues"]),
        (block(changed="X", resolved="x"), ["Changed", "Resolved Issues"]),
        (block(none="x"), ["Not Applicable"]),
        (block(), []),
        ("```\n" + block(changed="x") + "\n```", []),
        ("- [x] Added: no block above it", []),
        (None, []),
    ],
)
def test_the_boxes_of_a_description(body: str | None, ticked: list[str]) -> None:
    assert read_category(body, SETTINGS) == ticked


def test_what_decides_a_heading_and_in_which_order() -> None:
    title = "Add a gauge"
    boxes = PullText(number=1, body=block(resolved="x"), labels=("speed",))
    choices = [
        choose_heading(title, boxes, SETTINGS),
        choose_heading(title, boxes.model_copy(update={"body": "none"}), SETTINGS),
        choose_heading(title, PullText(number=1), SETTINGS),
        choose_heading(title, None, SETTINGS),
        choose_heading(title, boxes.model_copy(update={"body": block(none="x")}), SETTINGS),
    ]
    assert [(c.heading, c.by) for c in choices] == [
        ("Resolved issues", "category-block"),
        ("Optimized", "label"),
        ("Added", "guess"),
        ("Added", "guess"),
        (None, "category-block"),
    ]


@pytest.mark.parametrize(
    ("title", "heading"),
    [
        ("[Solvers] Add a gauge", "Added"),
        ("[HotFix] Gauge", "Resolved issues"),
        ("W/A for the leak", "Resolved issues"),
        ("[WA] AMD MLIR lld conflicts with conda", "Resolved issues"),
        ("[CI] Remove the old lever", "Removed"),
        ("[Tuning] new entries", "Optimized"),
        ("Prefix the gauge", "Changed"),
        ("Address the matter", "Changed"),
        ("[Tests] Add test for #1929", "Changed"),
        ("[NFC][Doc] Add note about a cache", "Changed"),
        ("[tests] Added smoke tests for the solvers. Some fixes.", "Changed"),
        ("[HotFix] Add a missing guard", "Resolved issues"),
        ("[Tests] Removed W/A for issue 936 from the Jenkins file", "Removed"),
        ("[tests] Regression test for #1956. Logging improvements.", "Changed"),
        ("[tests] Fixed pooling validation", "Resolved issues"),
        ("[gfx90a] Winograd multipass support", "Added"),
        ("CK group forward convolution integration", "Added"),
        ("[ROCm 5.6] bump CK commit hash, fix a few warnings", "Changed"),
        ("[MLIR] Address tuning failures", "Resolved issues"),
        ("[CI] Disable Perf Test Stage by Default", "Changed"),
        ("Perf stage - added all tracked models", "Changed"),
        ("Rework for any_solver perf params test function.", "Changed"),
        ("[Perf] refresh gfx90a6e DBs", "Optimized"),
        ("[Tuning][MI250] Gold17 (CI refresh)", "Optimized"),
    ],
)
def test_guesses(title: str, heading: str) -> None:
    assert guess_heading(title, SETTINGS) == heading


def test_a_fragment_decides_and_a_reverted_one_tells_of_nothing() -> None:
    one, two = commit(1, "Add a gauge (#1)"), commit(2, "Add a lever (#2)")
    undo = commit(3, 'Revert "Add a lever (#2)"')
    fragments = (
        Fragment(path="n/1.fix", category="Fixed", text="Repairs the **dial**", commit=one.commit, numbers=(1,)),
        Fragment(path="n/1.odd", category="Oddities", text="Second note", commit=one.commit),
        Fragment(path="n/2.fix", category="Fixed", text="never", commit=two.commit, numbers=(2,)),
    )
    notes = make_notes(facts(one, two, undo, fragments=fragments), SETTINGS)
    assert under(notes) == {"Resolved issues": ["Repairs the **dial**"], "Oddities": ["Second note"]}
    assert {e.grouped_by for _, e in notes.entries()} == {"fragment"}


def test_a_fragment_may_keep_a_change_out() -> None:
    one = commit(1, "Add a gauge (#1)")
    fragment = Fragment(path="n/1.none", category="none", text="x", commit=one.commit)
    notes = make_notes(facts(one, fragments=(fragment,)), SETTINGS)
    assert (notes.sections, [item.why for item in notes.left_out]) == ((), ["not-applicable"])


# -- once -----------------------------------------------------------------------------------------------------------


def test_one_pull_request_is_one_change_whatever_its_picks() -> None:
    made = facts(
        commit(1, "Add a gauge (#1)"),
        commit(2, "[2.0] Add a gauge (#1)"),
        commit(3, "[2.0] pick of the gauge (#1) (#9)"),
        commit(4, "Repair the dial"),
        twice=(SamePatch(commit=f"{4:040x}", other=f"{1:040x}", by="equal-patch"),),
    )
    ((_, entry),) = make_notes(made, SETTINGS).entries()
    assert (entry.pr, entry.picks, len(entry.commits)) == (1, (9,), 4)


def test_what_the_start_has_is_left_out_unless_it_took_it_back() -> None:
    there = commit(11, "Add a gauge (#1)")
    pair = SamePatch(commit=f"{1:040x}", other=there.commit, by="equal-patch")
    one = commit(1, "Add a gauge (#1)")
    notes = make_notes(facts(one, elsewhere=(pair,), missing=(there,)), SETTINGS)
    assert [(item.pr, item.why, item.as_commit) for item in notes.left_out] == [(1, "already-in-from", there.commit)]
    undo = commit(12, 'Revert "Add a gauge (#1)"')
    notes = make_notes(facts(one, elsewhere=(pair,), missing=(there, undo)), SETTINGS)
    assert (under(notes), notes.left_out) == ({"Added": ["Add a gauge"]}, ())


def test_one_number_under_two_patches_is_marked_not_left_out() -> None:
    there = commit(11, "Add a gauge (#1)")
    pair = SamePatch(commit=f"{1:040x}", other=there.commit, by="number")
    notes = make_notes(facts(commit(1, "Add a gauge (#1)"), elsewhere=(pair,), missing=(there,)), SETTINGS)
    ((_, entry),) = notes.entries()
    assert entry.also == pair
    assert "in `v1` in another form" in render_notes(notes, SETTINGS, "rocm", forge="github.com")


def test_a_pull_request_becomes_one_change_before_it_is_merged() -> None:
    parts = (commit(1, "first step"), commit(2, 'Revert "first step"'), commit(3, "second step"))
    made = facts(*parts, pulls=(PullText(number=7, title="Add a gauge", body=block(changed="x")),))
    folded = made.model_copy(update={"range_": fold_into_pull_request(made.range_, 7)})
    assert under(make_notes(folded, SETTINGS)) == {"Changed": ["Add a gauge"]}


# -- words of strangers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("thanks @someone", "thanks @\u200bsomeone"),
        ("see #12 and o/r#3", "see \\#\u200b12 and o/r\\#\u200b3"),
        ("GH-4", "GH-\u200b4"),
        ("https://github.com/o/r/issues/5", "https:\u200b//github.com/o/r/issues/5"),
        ("mail a@example.org", "mail a@\u200bexample.org"),
        ("www.example.org", "www\u200b.example.org"),
        ("| a | <b> `c` *d*", "\\| a \\| &lt;b&gt; \\`c\\` \\*d\\*"),
        ("line\n\n# heading", "line \\# heading"),
        ("<!-- relmgr:notes x lines= -->", "&lt;!-- relmgr:notes x lines= --&gt;"),
        ("by deadbee1 and 1234567", "by dea\u200bdbee1 and 123\u200b4567"),
        ("a decade of beaded facade", "a decade of beaded facade"),
    ],
)
def test_n6_a_title_is_defused(text: str, shown: str) -> None:
    assert defuse(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**bold** `@code #1 <x>` @someone #2", "**bold** `@code #1 <x>` @\u200bsomeone #\u200b2"),
        ("[guide](https://example.org/a_b) stays", "[guide](https://example.org/a_b) stays"),
        ("[bad](javascript:alert)", "\\[bad\\](javascript:alert)"),
        ("![pixel](https://example.org/p.png)", "!\\[pixel\\](https:\u200b//example.org/p.png)"),
        ("<img src=x> a | b", "&lt;img src=x&gt; a \\| b"),
        ("open ` tick", "open \\` tick"),
        ("```\nfence\n``` end", "``` fence ``` end"),
    ],
)
def test_n6_a_fragment_keeps_its_markup_and_no_mention(text: str, shown: str) -> None:
    assert defuse_markdown(text) == shown


# A dollar sign stands in an element of its own, so that no two of them set mathematics.
DOLLAR_SPANS = {"<span>", "</span>"}
_STRANGE = st.text(alphabet=st.sampled_from("ab1 @#`*_[]()<>|~!\\\\\n:/.-&$"), max_size=60)


@given(_STRANGE)
def test_n6_no_title_leaves_its_list_item(title: str) -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(f"* x {defuse(title)} end\n* next\n")
    assert [t.type for t in tokens].count("list_item_open") == 2
    children = [child for t in tokens for child in t.children or ()]
    assert {child.type for child in children} <= {"text", "text_special", "html_inline"}
    assert {child.content for child in children if child.type == "html_inline"} <= DOLLAR_SPANS
    assert not re.search(r"@\w|#\d", defuse(title))


@example(r"\`#1`")
@example(r"\[x\](https://example.com) \\`@y`")
@given(_STRANGE)
def test_n6_no_fragment_leaves_its_list_item(text: str) -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(f"* x {defuse_markdown(text)} end\n* next\n")
    assert [t.type for t in tokens].count("list_item_open") == 2
    children = [child for t in tokens for child in t.children or ()]
    assert not {c.type for c in children} & {"image", "softbreak"}
    assert {c.content for c in children if c.type == "html_inline"} <= DOLLAR_SPANS
    # A link is made of one run of text: `#*1*` shows two, and links nothing.
    words = "".join(c.content if c.type == "text" else "\n" for c in children)
    assert not re.search(r"@\w|#\d", words)
    assert all(str(c.attrs.get("href")).startswith("http") for c in children if c.type == "link_open")


# -- the ABI and the databases --------------------------------------------------------------------------------------


def move(old: int, new: int) -> PinChange:
    def side(number: int) -> PinSide:
        return PinSide(
            site="forge.pin",
            repository="acme/forge",
            ref=f"f{number}",
            ref_kind="tag",
            resolved=None,
            digest=None,
            options=(),
        )

    step = AbiChange(
        old=old,
        new=new,
        old_convention=abi(old).convention,
        new_convention=abi(new).convention,
        crossing=abi(old).convention != abi(new).convention,
        evidence=AbiEvidence(confidence="read", old="x", new="x"),
    )
    return PinChange(
        commit=f"{1:040x}",
        committed_at=AT,
        pr=1,
        subject="Tidy up (#1)",
        kinds=("ref",),
        old=side(old),
        new=side(new),
        abi=step,
        first_release=None,
    )


@pytest.mark.parametrize(
    ("numbers", "says"),
    [
        ((41, 50), "delete `*.ukdb`; rebuild whatever links acme/forge"),
        ((50, 41), "Kernel ABI 50 (bare pointers) -> 41 (memref descriptors)"),
        (
            (41, 41),
            "Kernel ABI 41 (memref descriptors), as before. Nothing has to be rebuilt or deleted for it, on upgrade or",
        ),
        ((41, None), ": not known whether it changed. Treat it as changed"),
        ((None, None), ": not known whether it changed. Treat it as changed"),
    ],
)
def test_who_must_do_what(numbers: tuple[int | None, int | None], says: str) -> None:
    notes = make_notes(facts(commit(1, "Tidy up (#1)"), numbers=numbers), SETTINGS)
    assert says in render_notes(notes, SETTINGS, "markdown", forge="github.com")


def test_the_change_that_crossed_is_named_whatever_its_title_says() -> None:
    made = facts(commit(1, "Tidy up (#1)"), numbers=(41, 50), pin_changes=(move(41, 50),))
    text = render_notes(make_notes(made, SETTINGS), SETTINGS, "rocm", forge="github.com")
    assert "* The pin crossed with #1 on 2030-05-01" in text
    assert "* Tidy up – **moves the pin to `f50`, kernel ABI 41 -> 50** ([#1](https://github.com/" in text
    assert "On downgrade to `v1`: delete `*.ukdb` again" in text


def test_n6_no_text_of_strangers_is_markup_on_the_page() -> None:
    evil = "<script>alert(1)</script>"
    crossing = move(41, 50).model_copy(update={"subject": evil})
    assert crossing.new is not None
    crossing = crossing.model_copy(update={"new": crossing.new.model_copy(update={"ref": evil})})
    made = facts(commit(1, evil), commit(2, f'Revert "{evil}"'), numbers=(41, 50), pin_changes=(crossing,))
    finding = AuditFinding(
        kind="branch-pin-at-release",
        outcome=Outcome.FAILED,
        level=Level.WARN,
        commit=None,
        committed_at=None,
        pr=None,
        release="v2",
        path=None,
        evidence={"ref": evil},
        remedy="",
    )
    provider = ProviderRange(repository="acme/forge", old=evil, new=evil, direction="unknown", facts=None, gap=evil)
    made = made.model_copy(update={"findings": (finding,), "provider_range": provider, "gaps": (evil,)})
    commits = tuple(c.model_copy(update={"author": evil}) for c in (*made.range_.commits, commit(3, evil)))
    made = made.model_copy(update={"range_": made.range_.model_copy(update={"commits": commits, "from_": evil})})
    page = render_notes(make_notes(made, SETTINGS), SETTINGS, "html", forge="github.com")
    assert "<script" not in page
    assert page.count("&lt;script&gt;") > 8
    for form in ("markdown", "rocm", "github"):
        text = render_notes(make_notes(made, SETTINGS), SETTINGS, form, forge="github.com")  # type: ignore[arg-type]
        assert "<script" not in re.sub(r"`[^`\n]*`", "", text)


def database(path: str, oid: str, size: int | None = 10, packed: tuple[DatabaseFact, ...] = ()) -> DatabaseFact:
    introduced = Introduction(commit="c" * 40, committed_at=AT, pr=5, subject="Data (#5)", repacked_from=packed)
    return DatabaseFact(
        path=path,
        arch=path.partition("_")[0].partition(".")[0],
        cu_count=None,
        known_arch=True,
        storage="git-lfs",
        oid=oid,
        size=size,
        introduced=introduced,
        after_crossing=False,
        built_under="memref-descriptor",
    )


def scan(oid: str, rows: int | None, **conventions: int) -> ScannedFile:
    named = {name.replace("_", "-"): count for name, count in conventions.items()}
    return ScannedFile(path=oid, size=1, content_ids=(oid,), state="ok", provider_rows=rows, conventions=named)


def changes(old: list[DatabaseFact], new: list[DatabaseFact], *scans: ScannedFile) -> dict[str, str]:
    made = facts(numbers=(41, 50), pin_changes=(move(41, 50),), databases=(tuple(old), tuple(new)))
    return {file.path: file.change for file in compare_databases(made.before, made.after, scans).files}


def test_what_git_tells_of_databases() -> None:
    was = database("gfx90a_68.kdb", "1")
    assert changes(
        [was, database("gfx906.kdb", "2"), database("gfx908.kdb", "3"), database("gfx900_56.kdb", "4")],
        [
            database("gfx90a.kdb.bz2", "5", packed=(was,)),
            database("gfx906.kdb", "2"),
            database("gfx908.kdb", "6"),
            database("gfx900.kdb", "4"),
            database("gfx942.kdb", "7"),
        ],
    ) == {
        "gfx90a.kdb.bz2": "re-packed",
        "gfx906.kdb": "unchanged",
        "gfx908.kdb": "changed",
        "gfx900.kdb": "moved",
        "gfx942.kdb": "added",
    }
    assert changes([was], []) == {"gfx90a_68.kdb": "removed"}


@pytest.mark.parametrize(
    ("now", "then", "word"),
    [
        (scan("n", 3, bare_pointer=3), scan("o", 3, memref_descriptor=3), "regenerated"),
        (scan("n", 0), scan("o", 3, memref_descriptor=3), "pruned"),
        (scan("n", 3, memref_descriptor=3), scan("o", 3, memref_descriptor=3), "changed"),
        (scan("n", 3, bare_pointer=2, memref_descriptor=1), scan("o", 3, memref_descriptor=3), "changed"),
        (scan("n", 0), scan("o", 0), "changed"),
        (scan("n", 0), scan("x", 3, memref_descriptor=3), "changed"),
        (scan("n", None), scan("o", 3, memref_descriptor=3), "changed"),
        (scan("n", 3, bare_pointer=3).model_copy(update={"unknown": 1}), scan("o", 3, memref_descriptor=3), "changed"),
    ],
)
def test_regenerated_and_pruned_are_said_of_scanned_files_alone(now: ScannedFile, then: ScannedFile, word: str) -> None:
    assert changes([database("gfx906.kdb", "o")], [database("gfx906.kdb", "n")], now, then) == {"gfx906.kdb": word}


def test_a_size_that_is_not_known_makes_no_sum() -> None:
    made = facts(databases=((database("gfx906.kdb", "1", None),), (database("gfx906.kdb", "2", 7),)))
    found = compare_databases(made.before, made.after)
    assert (found.old_total, found.new_total) == (None, 7)


def test_a_packing_of_older_files_is_in_doubt_and_said_first() -> None:
    was = database("gfx90a_68.kdb", "1")
    packed = database("gfx90a.kdb.bz2", "2", packed=(was,)).model_copy(update={"after_crossing": True})
    made = facts(numbers=(50, 50), pin_changes=(move(41, 50),), databases=((was,), (packed,)))
    made = made.model_copy(update={"pin_changes": ()})
    text = render_notes(make_notes(made, SETTINGS), SETTINGS, "text", forge="github.com")
    assert text.startswith("Scan or delete 1 kernel database before use; the kernel ABI itself stays.\n")


def test_a_release_s_body_fits_the_forge() -> None:
    commits = [commit(n, f"Change the part number {n} of this long list (#{n})") for n in range(1, 2001)]
    text = render_notes(make_notes(facts(*commits), SETTINGS), SETTINGS, "github", forge="github.com")
    assert len(text) <= 125_000
    assert text.endswith("Cut here: the rest does not fit. Full list: https://github.com/acme/gadget/compare/v1...v2\n")


# -- the title, and what is missing ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "tag", "version", "made"),
    [
        ("G {version} for P {release}", "p-5.4.0", "2.19.0", "G 2.19.0 for P 5.4.0"),
        ("G {version} for P {release}", "p-5.4.0", None, None),
        ("G {release}", "5c6664021", None, None),
        ("{tag}", "5c6664021", None, "5c6664021"),
    ],
)
def test_the_section_s_title(title: str, tag: str, version: str | None, made: str | None) -> None:
    assert section_title(NotesSettings(title=title), tag, version) == made


def entry(text: str, pr: int | None = 1) -> NoteEntry:
    return NoteEntry(text=text, pr=pr, commits=("abcdef0123" * 4,), grouped_by="guess")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("* x ([#1](https://example.org/pull/1))", True),
        ("- as in https://github.com/o/r/pull/1/files", True),
        ("- x ([#11](https://example.org/pull/11))", False),
        ("- see abcdef0", True),
        ("- LSTM multi-stream solver", True),
        ("- multi-stream", False),
        ("- another thing", False),
        ("", False),
    ],
)
def test_which_line_tells_of_a_change(line: str, told: bool) -> None:
    assert Told(["# Log", line]).tells(entry("[RNN] Add LSTM multi-stream solver")) == told


def test_n7_a_component_that_changed_and_is_not_told_is_an_error() -> None:
    made = facts(
        commit(1, "Tidy up (#1)"),
        numbers=(41, 50),
        pin_changes=(move(41, 50),),
        databases=((database("gfx906.kdb", "1"),), (database("gfx906.kdb", "2"),)),
    )
    notes = make_notes(made, SETTINGS, "FORGE_KERNEL_ABI")
    silent = find_missing(notes, "- Tidy up (#1)", ("forge",), "Gadget v2")
    assert {(m.component, m.level) for m in silent} == {
        ("kernel-abi", "error"),
        ("provider", "error"),
        ("kernel-databases", "error"),
    }
    full = "- Tidy up (#1): Forge moved, FORGE_KERNEL_ABI is 50, gfx906.kdb changed"
    assert find_missing(notes, full, ("forge",), "Gadget v2") == []
    (absent,) = find_missing(notes, None, ("forge",), "Gadget v2")
    assert (absent.component, absent.detail) == ("section", 'the change log has no section "Gadget v2"')
    assert find_missing(notes, render_notes(notes, SETTINGS, "rocm", forge="github.com"), ("forge",), "x") == []


def test_n7_a_pull_request_says_what_it_lacks() -> None:
    made = facts(commit(1, "Tidy up (#1)"))
    (missing,) = check_pull_request(make_notes(made, SETTINGS), SETTINGS, False, ())
    assert (missing.component, missing.level) == ("pull-request", "error")
    assert "its description was not read" in missing.detail
    assert check_pull_request(make_notes(made, SETTINGS), SETTINGS, False, ("- Tidy up",)) == []
    ticked = facts(commit(1, "Tidy up (#1)"), pulls=(PullText(number=1, body=block(changed="x")),))
    assert check_pull_request(make_notes(ticked, SETTINGS), SETTINGS, True, ()) == []
