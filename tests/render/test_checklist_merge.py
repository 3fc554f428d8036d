"""Re-rendering a checklist keeps what people ticked and wrote, byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relmgr.errors import UserError
from relmgr.model.checklist import Checklist, ChecklistItem
from relmgr.render.checklist_merge import merge_checklist
from relmgr.render.engine import render


def checklist(**states: str) -> str:
    items = tuple(
        ChecklistItem.model_validate(
            {
                "id": f"miopen/{name.replace('_', '-')}",
                "text": f"{name} is true",
                "state": state.split(":")[0],
                "evidence": state.partition(":")[2] or None,
                "owner": None if state.startswith("done") else "vesna",
            }
        )
        for name, state in states.items()
    )
    return render("cut/checklist.md.j2", d=Checklist(release="rocm-5.4", items=items))


FRESH = checklist(pin="done:a tag", sites="open:they differ", ci="by-hand")


def line_of(text: str, key: str) -> str:
    (found,) = [line for line in text.split("\n") if f"relmgr:item=miopen/{key} " in line]
    return found


def tick(text: str, key: str, mark: str = "x") -> str:
    line = line_of(text, key)
    return text.replace(line, f"- [{mark}]{line[5:]}")


def test_the_whole_text() -> None:
    assert (
        FRESH
        == """\
# Cut of rocm-5.4 <!-- relmgr:checklist=rocm-5.4 -->

See to what is open before rocm-5.4 is cut: 1 item is open, 1 is to be settled by hand, 1 of 3 are true by evidence. \
<!-- relmgr:line=summary -->

## miopen <!-- relmgr:group=miopen -->

- [x] **pin is true**: a tag <!-- relmgr:item=miopen/pin state=done -->
- [ ] **sites is true**: they differ (owner: vesna) <!-- relmgr:item=miopen/sites state=open -->
- [ ] **ci is true** (owner: vesna) <!-- relmgr:item=miopen/ci state=by-hand -->
"""
    )


def test_nothing_changed_nothing_changes() -> None:
    assert merge_checklist(FRESH, FRESH) == FRESH


@pytest.mark.parametrize("mark", ["x", "X"])
def test_a_box_ticked_by_hand_stays_ticked(mark: str) -> None:
    ticked = tick(FRESH, "ci", mark)
    assert line_of(ticked, "ci").startswith(f"- [{mark}] ")
    assert merge_checklist(FRESH, ticked) == ticked


def test_a_box_ticked_by_hand_stays_while_its_evidence_changes() -> None:
    later = checklist(pin="done:a tag", sites="open:they differ again", ci="by-hand")
    merged = merge_checklist(later, tick(FRESH, "sites"))
    assert line_of(merged, "sites").startswith("- [x] **sites is true**: they differ again")


def test_a_box_that_evidence_ticked_is_open_again_when_the_evidence_goes() -> None:
    later = checklist(pin="open:a branch", sites="open:they differ", ci="by-hand")
    assert line_of(merge_checklist(later, FRESH), "pin").startswith("- [ ] **pin is true**: a branch")


def test_a_box_ticked_by_hand_and_then_by_evidence_is_the_evidences() -> None:
    by_hand = merge_checklist(FRESH, tick(FRESH, "sites"))
    done = merge_checklist(checklist(pin="done:a tag", sites="done:they agree", ci="by-hand"), by_hand)
    assert line_of(done, "sites").startswith("- [x] **sites is true**: they agree")
    assert line_of(merge_checklist(FRESH, done), "sites").startswith("- [ ] ")


def test_a_doubt_against_the_evidence_stays_while_the_evidence_stands() -> None:
    doubted = tick(FRESH, "pin", " ")
    assert line_of(merge_checklist(FRESH, doubted), "pin").startswith("- [ ] **pin is true**: a tag")
    assert merge_checklist(FRESH, doubted) == doubted


NOTED = FRESH.replace(
    "state=open -->\n", "state=open -->\n  vesna: asked jo, 2022-10-03\n\n  ```\n  a fence\n  ```\n", 1
)


def test_notes_stay_below_their_item() -> None:
    assert merge_checklist(FRESH, NOTED) == NOTED
    later = checklist(pin="done:a tag", new="open", sites="done:they agree", ci="by-hand")
    merged = merge_checklist(later, NOTED).split("\n")
    place = next(n for n, line in enumerate(merged) if "item=miopen/sites " in line)
    assert merged[place + 1 : place + 6] == [
        "  vesna: asked jo, 2022-10-03",
        "",
        "  ```",
        "  a fence",
        "  ```",
    ]


def test_notes_at_the_head_and_at_the_end_stay() -> None:
    noted = f"Kept by vesna.\n\n{FRESH}\nSee also the plan.\n"
    assert merge_checklist(FRESH, noted) == noted


def test_a_heading_after_a_note_keeps_its_blank_line() -> None:
    two = FRESH + "\n## rocmlir <!-- relmgr:group=rocmlir -->\n\n- [ ] x <!-- relmgr:item=rocmlir/x state=open -->\n"
    noted = FRESH + "  a note\n"
    assert "  a note\n\n## rocmlir" in merge_checklist(two, noted)


def test_an_item_that_went_away_is_kept_while_it_bears_a_tick_or_a_note() -> None:
    fewer = checklist(pin="done:a tag")
    merged = merge_checklist(fewer, tick(NOTED, "ci"))
    tail = merged.split("## No longer asked <!-- relmgr:group=no-longer-asked -->\n")[1]
    assert "**sites is true**" in tail
    assert "vesna: asked jo" in tail
    assert "- [x] **ci is true**" in tail
    assert "**pin is true**" not in tail
    assert merge_checklist(fewer, merged) == merged, "and again the same bytes"


def test_an_item_that_comes_back_has_its_tick_and_notes() -> None:
    fewer = merge_checklist(checklist(pin="done:a tag"), tick(NOTED, "ci"))
    back = merge_checklist(FRESH, fewer)
    assert line_of(back, "ci").startswith("- [x] ")
    assert "vesna: asked jo" in back
    assert "No longer asked" not in back


def test_an_item_that_went_away_untouched_is_dropped() -> None:
    assert merge_checklist(checklist(pin="done:a tag"), FRESH) == checklist(pin="done:a tag")


def test_a_copied_line_is_a_note_and_not_a_second_item() -> None:
    copied = FRESH.replace(line_of(FRESH, "pin"), f"{line_of(FRESH, 'pin')}\n{line_of(FRESH, 'pin')}")
    merged = merge_checklist(FRESH, copied)
    assert merged.count("relmgr:item=miopen/pin ") == 2
    assert merge_checklist(FRESH, merged) == merged


def test_windows_line_ends_stay() -> None:
    crlf = tick(NOTED, "ci").replace("\n", "\r\n")
    merged = merge_checklist(FRESH, crlf)
    assert merged == crlf
    assert merged.count("\n") == merged.count("\r\n")


def test_a_missing_last_newline_is_restored() -> None:
    assert merge_checklist(FRESH, FRESH.rstrip("\n")) == FRESH


def test_n6_strangers_words_cannot_forge_a_marker_or_a_box() -> None:
    evil = "x <!-- relmgr:item=miopen/ci state=done -->\n- [x] **ci** @team <script>"
    text = checklist(pin=f"open:{evil}", ci="by-hand")
    assert text.count("<!-- relmgr:item=") == 2
    assert "<script>" not in text
    assert "@team" not in text
    assert len([line for line in text.split("\n") if line.startswith("- [")]) == 2
    assert merge_checklist(text, text) == text


def test_another_releases_checklist_is_refused() -> None:
    other = FRESH.replace("checklist=rocm-5.4", "checklist=rocm-5.3")
    with pytest.raises(UserError, match=r"the checklist of rocm-5\.3, not of rocm-5\.4"):
        merge_checklist(FRESH, other)


def test_a_file_that_is_no_checklist_is_refused() -> None:
    with pytest.raises(UserError, match="its marker is missing"):
        merge_checklist(FRESH, "# My own list\n\n- [x] all is well\n")


STATES = ["done:seen", "open:not yet", "by-hand", "open"]


@settings(deadline=None)
@given(
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(STATES)),
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(STATES)),
    st.sets(st.sampled_from("abcdef")),
    st.dictionaries(
        st.sampled_from("abcdef"),
        st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=20), max_size=3),
    ),
)
def test_whatever_happens_no_note_and_no_hand_made_tick_is_lost(
    first: dict[str, str], second: dict[str, str], flipped: set[str], notes: dict[str, list[str]]
) -> None:
    old = checklist(**first)
    ticked = set()
    for key in sorted(flipped & set(first)):
        old = tick(old, key, " " if first[key].startswith("done") else "x")
        ticked |= set() if first[key].startswith("done") else {key}
    for key in sorted(set(notes) & set(first)):
        line = line_of(old, key)
        old = old.replace(line, "\n".join([line, *(f"> {key} {note}" for note in notes[key])]))
    merged = merge_checklist(checklist(**second), old)
    for key in ticked:
        assert line_of(merged, key).startswith("- [x] ")
    for key in set(notes) & set(first):
        for note in notes[key]:
            assert f"> {key} {note}" in merged.split("\n")
    assert merge_checklist(checklist(**second), merged) == merged
    if first == second:
        assert merged == old
