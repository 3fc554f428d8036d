"""Tickets from facts: which archs, in which state, joined with what is planned, closed when a scan says so."""

from __future__ import annotations

import json
from datetime import date, datetime, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relmgr.gate.ticket_recipe import deadline_of
from relmgr.gate.tickets import (
    close_ticket,
    evaluate_tickets,
    gate_tickets,
    shipped_databases,
)
from relmgr.model.rebuild import Rebuild, RebuildStep
from relmgr.model.ticket import ExistingTicket, RegenerationTicket, TicketFacts, TicketKey, Tickets
from relmgr.model.ticket_block import MAX_BODY, NotATicket, parse_block, write_block
from relmgr.model.trains import Regeneration, Train
from relmgr.render.foreign import code as code_span
from relmgr.render.ticket import write_tickets
from tests.gate.ticket_facts import CROSSED, TRAIN, database, move, scan, ticket_facts

OLD = database("gfx908", "gfx908", after=("a",))
NEW = database("gfx908", "gfx908", day=20, oid="9" * 64)


def written(facts: TicketFacts) -> Tickets:
    return write_tickets(evaluate_tickets(facts), facts.existing or ())


def only(facts: TicketFacts) -> RegenerationTicket:
    (ticket,) = written(facts).tickets
    return ticket


def filed(facts: TicketFacts, **more: Any) -> ExistingTicket:
    """Return the one ticket of these facts as it stands on the forge, read back from its body."""
    body = only(facts).body
    data = parse_block(body)
    assert data is not None
    key = data.key
    return ExistingTicket(
        **{
            "consumer": key.consumer,
            "train": key.train,
            "arch": key.arch,
            "state": "open",
            "url": "https://example.org/1",
            "body": body,
            "data": data,
            **more,
        }
    )


def states(ticket: RegenerationTicket) -> dict[str, str]:
    return {d.path.removeprefix("kernels/").removesuffix(".kdb"): d.state for d in ticket.databases}


# -- which archs ----------------------------------------------------------------------------------------------------


def test_one_ticket_an_arch_with_all_its_databases() -> None:
    facts = ticket_facts(
        database("gfx906_60", "gfx906", after=("a",)),
        database("gfx906_64", "gfx906", after=("a",)),
        database("gfx90a68", "gfx90a", after=("a",)),
    )
    found = {ticket.arch: states(ticket) for ticket in evaluate_tickets(facts).tickets}
    assert found == {
        "gfx906": {"gfx906_60": "suspected", "gfx906_64": "suspected"},
        "gfx90a": {"gfx90a68": "suspected"},
    }


def test_k5_archs_that_share_a_beginning_are_two_tickets() -> None:
    facts = ticket_facts(database("gfx90", "gfx90", after=("a",)), database("gfx90a", "gfx90a", after=("a",)))
    assert [ticket.arch for ticket in evaluate_tickets(facts).tickets] == ["gfx90", "gfx90a"]
    again = ticket_facts(*facts.databases, existing=(filed(ticket_facts(facts.databases[0])),))
    assert [(t.arch, t.action) for t in written(again).tickets] == [("gfx90", "keep"), ("gfx90a", "file")]
    other = ticket_facts(*facts.databases, existing=(filed(ticket_facts(facts.databases[1])),))
    assert [(t.arch, t.action) for t in written(other).tickets] == [("gfx90", "file"), ("gfx90a", "keep")]


def test_changed_since_the_crossing_asks_for_a_scan_in_the_crossings_own_train() -> None:
    ticket = only(ticket_facts(NEW))
    assert states(ticket) == {"gfx908": "changed-since"}
    assert ticket.missing == ("kernels/gfx908.kdb: changed since the crossing; scan it to close",)
    assert ticket.title == "Scan the kernel database for gfx908 in gadget-2.1 by 2030-06-10 to close this"


def test_changed_since_a_crossing_that_an_earlier_train_shipped_needs_no_ticket() -> None:
    document = evaluate_tickets(ticket_facts(NEW, previous_cut=date(2030, 5, 20)))
    assert document.tickets == ()
    assert document.not_needed[0].why == (
        "changed after the last crossing, which an earlier train shipped; scan it to be sure"
    )


def test_repacked_from_older_files_is_not_rebuilt() -> None:
    packed = database("gfx908", "gfx908", day=20, packed_from=(OLD,))
    facts = ticket_facts(packed, previous_cut=date(2030, 5, 20))
    assert states(only(facts)) == {"gfx908": "repacked"}
    assert [c.commit for c in only(facts).reason.crossings] == [CROSSED.commit]


def test_without_a_crossing_no_ticket() -> None:
    document = evaluate_tickets(ticket_facts(database("gfx908", "gfx908"), moves=()))
    assert document.tickets == ()
    assert document.not_needed[0].why == "no crossing since this content appeared"


def test_an_age_that_could_not_be_told_needs_a_ticket() -> None:
    assert states(only(ticket_facts(database("gfx908", "gfx908", after=None)))) == {"gfx908": "unknown"}


def test_two_moves_through_an_unknown_number_are_still_a_crossing() -> None:
    through = (move("a", 41, None, day=5), move("b", None, 50, day=6))
    between = database("gfx90a", "gfx90a", after=("b",))
    facts = ticket_facts(database("gfx908", "gfx908", after=("a", "b")), between, moves=through)
    assert [states(ticket) for ticket in evaluate_tickets(facts).tickets] == [
        {"gfx908": "suspected"},
        {"gfx90a": "unknown"},
    ]
    assert [c.certain for c in evaluate_tickets(facts).tickets[0].reason.crossings] == [False, False]


def test_an_unknown_convention_is_a_gap_and_never_fresh() -> None:
    facts = ticket_facts(OLD, number=None, scans=(scan(OLD, bare=3),))
    document = evaluate_tickets(facts)
    assert document.tickets == ()
    assert document.gaps == ("the kernel convention at trunk: the header",)
    assert "could not be told" in document.not_needed[0].why


def test_a_database_without_an_arch_is_a_gap() -> None:
    document = evaluate_tickets(ticket_facts(database("all", None, after=("a",))))
    assert document.gaps == ("kernels/all.kdb: its name tells no arch",)


# -- scans ----------------------------------------------------------------------------------------------------------


def test_a_scan_decides_over_age() -> None:
    ticket = only(ticket_facts(OLD, scans=(scan(OLD, bare=2, descriptor=5),)))
    assert states(ticket) == {"gfx908": "stale"}
    assert ticket.rows.model_dump() == {
        "provider": 7,
        "stale": 5,
        "solvers": ({"solver": "ConvFwd", "rows": 7, "stale": 5},),
        "not_scanned": (),
    }
    assert ticket.title == "Rebuild the kernel database for gfx908 in gadget-2.1 by 2030-06-10: 5 stale rows"


def test_a_database_without_the_providers_rows_needs_no_ticket() -> None:
    document = evaluate_tickets(ticket_facts(OLD, scans=(scan(OLD),)))
    assert [n.why for n in document.not_needed] == ["scanned: no row of the provider's"]
    assert document.tickets == ()


@pytest.mark.parametrize("trouble", [{"unknown": 1}, {"corrupt": 1}])
def test_a_row_that_could_not_be_judged_is_not_a_fresh_one(trouble: dict[str, int]) -> None:
    ticket = only(ticket_facts(OLD, scans=(scan(OLD, bare=4, **trouble),)))
    assert states(ticket) == {"gfx908": "unknown"}
    assert ticket.state == "open"


def test_k2_a_pointer_or_an_unreadable_file_is_no_scan() -> None:
    pointer = scan(OLD).model_copy(update={"state": "pointer", "provider_rows": None})
    assert states(only(ticket_facts(OLD, scans=(pointer,)))) == {"gfx908": "suspected"}
    broken = scan(OLD).model_copy(update={"state": "unreadable", "provider_rows": None, "note": "truncated"})
    ticket = only(ticket_facts(NEW, scans=(broken.model_copy(update={"content_ids": (NEW.fact.oid,)}),)))
    assert states(ticket) == {"gfx908": "unknown"}
    assert ticket.missing == ("kernels/gfx908.kdb: scanned, and could not be read: truncated",)


def test_a_scan_of_another_content_of_that_name_is_not_believed() -> None:
    other = scan(OLD, bare=3).model_copy(update={"content_ids": ("f" * 64,)})
    ticket = only(ticket_facts(OLD, scans=(other,)))
    assert states(ticket) == {"gfx908": "suspected"}
    assert ticket.databases[0].note == "a scan of that name was given, of another content"


def test_a_scan_without_digests_is_matched_by_name_and_size() -> None:
    named = scan(OLD, descriptor=1).model_copy(update={"content_ids": (), "path": "/elsewhere/gfx908.kdb"})
    ticket = only(ticket_facts(OLD, scans=(named,)))
    assert (ticket.databases[0].state, ticket.databases[0].note) == ("stale", "scan matched by name and size")
    sized = named.model_copy(update={"size": 999})
    assert states(only(ticket_facts(OLD, scans=(sized,)))) == {"gfx908": "suspected"}


# -- joining --------------------------------------------------------------------------------------------------------


def test_the_same_facts_twice_give_the_same_words() -> None:
    facts = ticket_facts(OLD)
    later = facts.model_copy(update={"at": datetime(2030, 6, 3, tzinfo=timezone.utc), "commit": "d" * 40})
    again = only(later.model_copy(update={"existing": (filed(facts),)}))
    assert again.action == "keep"
    crlf = filed(facts).model_copy(update={"body": only(facts).body.replace("\n", "\r\n")})
    assert only(facts.model_copy(update={"existing": (crlf,)})).action == "keep"


def test_a_second_crossing_joins_the_ticket_of_the_first() -> None:
    first = filed(ticket_facts(OLD))
    moves = (CROSSED, move("b", 50, 41, day=12), move("d", 41, 50, day=14))
    older = database("gfx908", "gfx908", after=("a", "b", "d"))
    newer = database("gfx908_big", "gfx908", after=("d",), day=13)
    ticket = only(ticket_facts(older, newer, moves=moves, existing=(first,)))
    assert ticket.action == "update"
    assert first.data is not None
    assert ticket.key == first.data.key.text
    assert [c.commit[0] for c in ticket.reason.crossings] == ["a", "b", "d"]


def test_a_ticket_filed_for_a_pull_requests_head_keeps_its_key_after_the_squash() -> None:
    early = filed(ticket_facts(database("gfx908", "gfx908", after=("f",)), moves=(move("f", 41, 50, day=3),)))
    ticket = only(ticket_facts(OLD, existing=(early,)))
    assert ticket.key.endswith("f" * 40)
    assert ([c.commit[0] for c in ticket.reason.crossings], ticket.action) == (["a"], "update")


def test_several_crossings_without_a_ticket_make_one() -> None:
    moves = (CROSSED, move("b", 50, 41, day=12), move("d", 41, 50, day=14))
    facts = ticket_facts(database("gfx908", "gfx908", after=("a", "b", "d")), moves=moves)
    assert only(facts).key == f"acme/gadget,gadget-2.1,gfx908,{'a' * 40}"


def test_a_rebuild_that_people_plan_already_is_joined() -> None:
    plan = ExistingTicket(
        consumer="Acme/Gadget", train="gadget-2.1", arch="gfx908", state="open", url="https://example.org/p"
    )
    ticket = only(ticket_facts(OLD, existing=(plan,)))
    assert (ticket.action, ticket.url) == ("join", "https://example.org/p")


@pytest.mark.parametrize(
    "other", [{"train": "gadget-2.2"}, {"arch": "gfx90"}, {"consumer": "acme/other"}, {"state": "done"}]
)
def test_a_plan_for_something_else_is_not_joined(other: dict[str, str]) -> None:
    plan = {"consumer": "acme/gadget", "train": "gadget-2.1", "arch": "gfx908", "state": "open", **other}
    facts = ticket_facts(OLD, existing=(ExistingTicket.model_validate(plan),))
    assert [t.action for t in evaluate_tickets(facts).tickets if t.arch == "gfx908"] == ["file"]


def test_a_ticket_closed_too_early_is_opened_again() -> None:
    assert only(ticket_facts(OLD, existing=(filed(ticket_facts(OLD), state="done"),))).action == "reopen"


# -- closing --------------------------------------------------------------------------------------------------------


def test_done_when_a_scan_of_the_new_database_shows_no_stale_row() -> None:
    existing = (filed(ticket_facts(OLD)),)
    ticket = only(ticket_facts(NEW, scans=(scan(NEW, bare=7),), existing=existing))
    assert (ticket.state, ticket.action, ticket.missing) == ("done", "close", ())
    assert ticket.title.startswith("Nothing left to do: ")
    assert "## How" not in ticket.body


def test_a_scan_of_the_old_database_does_not_close_it() -> None:
    ticket = only(ticket_facts(NEW, scans=(scan(OLD, bare=7),), existing=(filed(ticket_facts(OLD)),)))
    assert (ticket.state, ticket.action) == ("open", "update")


def test_one_database_of_two_is_not_enough() -> None:
    two = database("gfx908_big", "gfx908", after=("a",))
    ticket = only(ticket_facts(NEW, two, scans=(scan(NEW, bare=7),), existing=(filed(ticket_facts(OLD)),)))
    assert ticket.state == "open"
    assert ticket.missing == ("kernels/gfx908_big.kdb: older than the crossing, not scanned",)


def test_withdrawn_when_the_pin_is_back_on_the_old_convention() -> None:
    moves = (CROSSED, move("b", 50, 41, day=12, subject='Revert "Tidy the build (#7)" (#9)'))
    back = ticket_facts(
        database("gfx908", "gfx908", after=("a", "b")), number=41, moves=moves, existing=(filed(ticket_facts(OLD)),)
    )
    ticket = only(back)
    assert (ticket.state, ticket.action, states(ticket)) == ("withdrawn", "close", {"gfx908": "fits"})
    assert [c.commit[0] for c in ticket.reason.crossings] == ["a", "b"]
    assert back.existing is not None
    closed = back.existing[0].model_copy(update={"state": "withdrawn", "body": ticket.body, "data": ticket.data})
    again = only(back.model_copy(update={"existing": (closed,)}))
    assert (again.state, again.action) == ("withdrawn", "keep")
    without = back.model_copy(update={"existing": ()})
    assert written(without).tickets == ()


def test_not_withdrawn_while_a_database_was_rebuilt_for_the_reverted_convention() -> None:
    moves = (CROSSED, move("b", 50, 41, day=12))
    rebuilt = database("gfx908", "gfx908", after=("b",), day=11)
    ticket = only(ticket_facts(rebuilt, number=41, moves=moves, existing=(filed(ticket_facts(OLD)),)))
    assert (ticket.state, ticket.action) == ("open", "update")
    assert ticket.missing == ("kernels/gfx908.kdb: older than the crossing, not scanned",)


def test_a_ticket_between_two_pins_of_one_convention_is_not_withdrawn() -> None:
    data = only(ticket_facts(OLD)).data
    same = data.model_copy(update={"old": data.new})
    assert close_ticket(only(ticket_facts(NEW)).databases, "bare-pointer", same)[0] == "open"


def test_an_unknown_convention_closes_nothing() -> None:
    ticket = only(ticket_facts(OLD, number=None, existing=(filed(ticket_facts(OLD)),)))
    assert (ticket.state, ticket.missing) == ("open", ("the convention at the present pin could not be told",))


def test_a_database_that_is_gone_is_asked_after() -> None:
    ticket = only(ticket_facts(existing=(filed(ticket_facts(OLD)),)))
    assert ticket.missing == ("no database of this arch is in the tree: say where it went",)
    assert ticket.title == "Say what became of the kernel databases for gfx908 in gadget-2.1"


# -- deadline, effort, recipe ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("day", "kind", "until"),
    [
        (date(2030, 6, 10), "last-safe-day", date(2030, 6, 10)),
        (date(2030, 6, 11), "cut", date(2030, 6, 20)),
        (date(2030, 6, 19), "cut", date(2030, 6, 20)),
        (date(2030, 6, 20), "first-tag", date(2030, 8, 1)),
        (date(2030, 7, 31), "first-tag", date(2030, 8, 1)),
        (date(2030, 8, 1), "next-release", None),
    ],
)
def test_the_deadline_is_the_next_day_of_the_train(day: date, kind: str, until: date | None) -> None:
    found = deadline_of(TRAIN, datetime(day.year, day.month, day.day, 12, tzinfo=timezone.utc), None)
    assert (found.kind, found.day) == (kind, until)


def test_a_train_without_a_planned_cut_has_no_deadline() -> None:
    ticket = only(ticket_facts(OLD, train=Train(name="gadget-2.1", base_branch="trunk")))
    assert (ticket.deadline.kind, ticket.deadline.day, ticket.effort.days) == ("not-planned", None, None)


def test_a_rate_needs_every_row_to_be_counted() -> None:
    rated = TRAIN.model_copy(update={"regeneration": Regeneration(rows_per_day=2)})
    two = database("gfx908_big", "gfx908", after=("a",))
    some = only(ticket_facts(OLD, two, train=rated, scans=(scan(OLD, descriptor=5),)))
    assert some.effort.days is None
    assert "not known until every database is scanned" in some.effort.source
    every = only(ticket_facts(OLD, two, train=rated, scans=(scan(OLD, descriptor=5), scan(two, descriptor=4))))
    assert (every.effort.rows, every.effort.days, every.deadline.last_safe_day) == (9, 5, date(2030, 6, 15))


def test_the_recipe_is_filled_in_and_names_what_is_not() -> None:
    ticket = only(ticket_facts(OLD))
    assert ticket.recipe is not None
    assert ticket.recipe.steps[0].command == "retune --label gadget-2.1-50-gfx908 --out <OUT>"
    assert ticket.recipe.fill == {"OUT": "a folder with room"}
    filled = only(ticket_facts(OLD, values={"OUT": "/srv/out"}))
    assert filled.recipe is not None
    assert filled.recipe.steps[0].command == "retune --label gadget-2.1-50-gfx908 --out /srv/out"
    assert filled.recipe.fill == {}


def test_an_arch_from_a_file_name_cannot_end_a_shell_word() -> None:
    odd = database("x", "gfx9; rm -rf $HOME", after=("a",))
    ticket = only(ticket_facts(odd))
    assert ticket.recipe is not None
    assert ticket.recipe.label == "gadget-2.1-50-gfx9--rm--rf--HOME"


def test_a_recipe_with_an_unknown_word_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\{WHERE\} in 'x \{WHERE\}' is not known"):
        Rebuild(tool="t", steps=(RebuildStep(command="x {WHERE}", why="w"),))


# -- words, marker, block -------------------------------------------------------------------------------------------

HOSTILE = (
    "`@boss` [click](https://evil.example) #12 | <img src=x> --> <!-- relmgr:ticket x --> ```\n"
    "\u202e@team www.evil.example"
)


def test_n6_a_strangers_subject_stays_inside_its_code() -> None:
    facts = ticket_facts(OLD, moves=(move("a", 41, 50, day=9, subject=HOSTILE),))
    body = only(facts).body
    line = next(line for line in body.splitlines() if "Its subject" in line)
    shown = line.partition("Its subject: ")[2]
    assert shown == (
        "```` `@boss` [click](https://evil.example) #12 | <img src=x> --> <!-- relmgr:ticket x --> ``` @team "
        "www.evil.example ````"
    )
    assert parse_block(body) is not None


def test_n6_a_file_name_cannot_break_its_table() -> None:
    body = only(ticket_facts(database("a|b`c`@me", "gfx908", after=("a",)))).body
    row = next(line for line in body.splitlines() if line.startswith("| ``kernels"))
    assert row.startswith("| ``kernels/a\\|b`c`@me.kdb`` | ")
    assert row.replace("\\|", "").count("|") == 7


@given(st.text())
def test_n6_code_spans_hold_any_text(text: str) -> None:
    from markdown_it import MarkdownIt

    shown = code_span(text)
    tokens = MarkdownIt("commonmark").parseInline(f"x {shown} y")[0].children or []
    kinds = [token.type for token in tokens]
    assert kinds in (["text", "code_inline", "text"], ["text"])
    assert kinds != ["text"] or shown == "(empty)"


@given(st.tuples(*[st.text(min_size=1)] * 4), st.tuples(*[st.text(min_size=1)] * 4))
def test_k4_two_keys_are_never_one_word(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    def text(parts: tuple[str, ...]) -> str:
        return TicketKey(**dict(zip(("consumer", "train", "arch", "crossing"), parts, strict=True))).text

    assert (text(one) == text(other)) == (one == other)


def test_k4_values_that_join_to_one_string_are_two_keys() -> None:
    one = TicketKey(consumer="a/b,c", train="d", arch="e", crossing="f")
    other = TicketKey(consumer="a/b", train="c,d", arch="e", crossing="f")
    assert one.text != other.text


def test_the_block_comes_back_as_it_was_written() -> None:
    ticket = only(ticket_facts(database("x-->`@me`<b>", "gfx908", after=("a",))))
    assert parse_block(ticket.body) == ticket.data
    assert "-->" not in write_block(ticket.data).splitlines()[2]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda body: body.replace('"version":1', '"version":2'), "not valid"),
        (lambda body: body.replace("relmgr:ticket acme", "relmgr:ticket evil"), "another ticket"),
        (lambda body: body + "\n" + body, "2 markers and 2 data blocks"),
        (lambda body: body.replace("relmgr:ticket-data", "gone"), "1 markers and 0 data blocks"),
        (lambda body: body.replace('"more":0', '"more":' + "[" * 9000), "not valid"),
    ],
)
def test_a_block_that_was_tampered_with_is_refused(change: Any, why: str) -> None:
    with pytest.raises(NotATicket, match=why):
        parse_block(change(only(ticket_facts(OLD)).body))


def test_other_issues_have_no_block() -> None:
    assert parse_block("Please rebuild gfx908") is None


def test_b3_the_longest_ticket_fits_a_comment() -> None:
    many = [database(f"{'x' * 150}{n}", "gfx908", after=("a",), oid=f"{n:064x}") for n in range(500)]
    ticket = only(ticket_facts(*many))
    assert len(ticket.body) < MAX_BODY
    assert "440 more are not listed here" in ticket.body
    assert ticket.data.more == 440
    assert len(ticket.databases) == 500
    assert parse_block(ticket.body) == ticket.data


def test_the_first_line_says_what_to_do() -> None:
    ticket = only(ticket_facts(OLD))
    assert ticket.body.splitlines()[0] == f"**{ticket.title}**"
    assert ticket.title == (
        "Scan, then rebuild the kernel database for gfx908 in gadget-2.1 by 2030-06-10: older than the ABI crossing"
    )


def test_golden_stale(golden: Any) -> None:
    two = database("gfx908_big", "gfx908", after=("a",))
    facts = ticket_facts(OLD, two, scans=(scan(OLD, bare=1, descriptor=5),), previous_cut=None)
    golden("tickets/stale.md", only(facts).body)


def test_golden_done_and_withdrawn(golden: Any) -> None:
    existing = (filed(ticket_facts(OLD)),)
    done = ticket_facts(NEW, scans=(scan(NEW, bare=7),), existing=existing)
    golden("tickets/done.md", only(done).body)
    moves = (CROSSED, move("b", 50, 41, day=12))
    back = database("gfx908", "gfx908", after=("a", "b"))
    golden("tickets/withdrawn.md", only(ticket_facts(back, number=41, moves=moves, existing=existing)).body)


# -- for the gate ---------------------------------------------------------------------------------------------------


def test_shipped_databases_say_only_what_a_scan_told() -> None:
    bad, odd = database("gfx90a", "gfx90a", after=("a",)), database("gfx942", "gfx942", after=("a",))
    facts = ticket_facts(OLD, bad, odd, NEW, scans=(scan(bad, descriptor=2), scan(odd, bare=1, unknown=1)))
    found = [(d.arch, d.provider_rows, d.stale_rows, d.note) for d in shipped_databases(facts)]
    assert found == [
        ("gfx908", None, None, "not scanned, and older than the crossing"),
        ("gfx90a", 2, 2, ""),
        ("gfx942", 2, None, "scanned: 1 rows of unknown convention, 0 corrupt"),
        ("gfx908", None, None, "not scanned, and changed since the crossing, which does not say rebuilt"),
    ]


def test_gate_tickets_carry_the_number_they_lead_to() -> None:
    plan = ExistingTicket(consumer="acme/gadget", train="gadget-2.1", arch="gfx90a", state="open")
    found = gate_tickets([filed(ticket_facts(OLD)), plan], "forge-abi", 51)
    assert [(t.contract, t.number, t.arch, t.state) for t in found] == [
        ("forge-abi", 50, "gfx908", "open"),
        ("forge-abi", 51, "gfx90a", "open"),
    ]


def test_the_document_has_the_contracts_keys() -> None:
    ticket = json.loads(only(ticket_facts(OLD)).model_dump_json())
    assert {"key", "arch", "reason", "databases", "rows", "recipe", "deadline", "owners", "body"} <= set(ticket)
