"""`relmgr cut plan | checklist`: facts, judgement, document."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from relmgr.errors import UserError
from relmgr.gate.checklist import evaluate_checklist, plan_cut
from relmgr.model.checklist import Checklist, CutFacts, CutPlan
from relmgr.model.project import Project
from relmgr.model.trains import Calendar
from relmgr.render.checklist_merge import MAX_CHECKLIST, merge_checklist
from relmgr.sources.cut_facts import read_cut_facts
from relmgr.workflows.trains import clones_at_hand, named_train


def cut_facts(project: Project, calendar: Calendar, release: str, at: datetime | None = None) -> CutFacts:
    """Return what is known about the cut of `release` as of `at`."""
    train = named_train(calendar, release)
    return read_cut_facts(project, calendar, train, clones_at_hand(project), at)


def cut_checklist(project: Project, calendar: Calendar, release: str, at: datetime | None = None) -> Checklist:
    """Return the checklist of a cut."""
    return evaluate_checklist(cut_facts(project, calendar, release, at))


def cut_plan(project: Project, calendar: Calendar, release: str, at: datetime | None = None) -> CutPlan:
    """Return the plan of a cut: the steps in order, and what blocks each."""
    facts = cut_facts(project, calendar, release, at)
    return plan_cut(facts, evaluate_checklist(facts))


def merged_checklist(file: Path, fresh: str) -> str:
    """Return `fresh` (a rendered checklist) with the ticks and notes that people made in `file`."""
    try:
        if file.stat().st_size > MAX_CHECKLIST:
            raise UserError("too large for a checklist", where=str(file), next_step="is it the right file?")
        old = file.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else f"not UTF-8: {error.reason}"
        raise UserError(f"cannot be read: {why}", where=str(file), next_step="check --merge") from None
    return merge_checklist(fresh, old, where=str(file))
