"""What a pull request's text declares about the order of merging, as facts of its snapshot."""

from __future__ import annotations

from relmgr.model.facts import Dependency, MergeAfter, Suggestion
from relmgr.model.order import MergeEvent, NotUnderstood, OrderDeclarations, OrderSuggestion
from relmgr.model.project import Project
from relmgr.model.snapshot import Snapshot
from relmgr.sources.changes.dependencies import pin_reached, pinned_companions, read_dependency
from relmgr.sources.git.clone import Clone

# Dependencies of one pull request that are looked up: its description is anybody's, and each costs reading.
MOST_DEPENDENCIES = 100


def with_order(project: Project, snapshot: Snapshot, declared: OrderDeclarations, clone: Clone) -> Snapshot:
    """Return the snapshot with its dependencies, events and suggestions; `clone` is the subject's repository."""
    if len(declared.depends_on) > MOST_DEPENDENCIES:
        why = (
            f"the description declares {len(declared.depends_on)}, more than the {MOST_DEPENDENCIES} that are followed"
        )
        return snapshot.model_copy(update={"gaps": snapshot.gaps | dict.fromkeys(("dependencies", "cycles"), why)})
    dependencies = _dependencies(project, snapshot, declared)
    own = snapshot.subject
    suggestions = [_suggestion(own, one) for one in declared.suggestions] + [
        _look_alike(one) for one in declared.not_understood
    ]
    facts: dict[str, object] = {
        "dependencies": dependencies,
        "merge_after": tuple(_event(project, snapshot, event, clone) for event in declared.merge_after),
        "suggestions": tuple(suggestions),
    }
    if dependencies:
        gaps = snapshot.gaps | {
            "cycles": "the other pull requests' descriptions were not read: the forge was not asked"
        }
        return snapshot.model_copy(update=facts | {"gaps": gaps})
    # What waits for nothing is in no cycle.
    return snapshot.model_copy(update=facts | {"cycles": ()})


def _dependencies(project: Project, snapshot: Snapshot, declared: OrderDeclarations) -> tuple[Dependency, ...]:
    """Return what the trailers name and, behind it, the companions that only the pin names."""
    train = next((train for train in snapshot.trains or () if train.name == snapshot.train), None)
    found = {}
    for pull in declared.depends_on:
        name = project.repository_named(pull.repository)
        if name is None:
            known = Dependency(pull=str(pull.ref), companion=False, declared_by=pull.source, state=None)
        else:
            known = read_dependency(
                project,
                name,
                pull.number,
                subject=snapshot.repository,
                declared_by=pull.source,
                train=train,
                at=snapshot.at,
            )
        found[known.pull.lower()] = known
    for pinned in pinned_companions(project, snapshot.pin_moves or (), snapshot.at):
        found[pinned.pull.lower()] = pinned
    return tuple(found.values())


def _event(project: Project, snapshot: Snapshot, event: MergeEvent, clone: Clone) -> MergeAfter:
    pin = event.pin or project.pin().name
    reached = None
    if event.kind == "pin" and event.ref and snapshot.base:
        reached = pin_reached(project, clone, pin, event.ref, snapshot.base, snapshot.at)
    return MergeAfter(
        kind=event.kind,
        train=event.train,
        day=event.day,
        pin=pin if event.kind == "pin" else None,
        ref=event.ref,
        reached=reached,
        declared_by=event.source,
    )


def _suggestion(own: str, spoken: OrderSuggestion) -> Suggestion:
    elsewhere = spoken.belongs_in is not None and str(spoken.belongs_in).lower() != own.lower()
    return Suggestion(
        sentence=spoken.sentence,
        trailer=spoken.trailer,
        belongs_in=str(spoken.belongs_in) if elsewhere else None,
        understood=True,
        source="description",
    )


def _look_alike(text: NotUnderstood) -> Suggestion:
    return Suggestion(
        sentence=text.text, trailer=None, understood=False, source=f"description, line {text.line}: {text.why}"
    )
