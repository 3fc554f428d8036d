"""Facts of tickets for tests: an invented consumer whose pin crossed once, and what stands in its tree."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any

from relmgr.model.abi import AbiVersion
from relmgr.model.databases import DatabaseFact, Introduction
from relmgr.model.pins import AbiChange, AbiEvidence, PinChange, PinSide
from relmgr.model.rebuild import Kept, Rebuild, RebuildStep
from relmgr.model.ticket import DatedDatabase, ScannedFile, TicketFacts
from relmgr.model.trains import FirstTag, Regeneration, Train

START = datetime(2030, 5, 1, 10, tzinfo=timezone.utc)
CONVENTION = {41: "memref-descriptor", 50: "bare-pointer", None: "unknown"}

TRAIN = Train(
    name="gadget-2.1",
    base_branch="trunk",
    cut=date(2030, 6, 20),
    first_tag=FirstTag(name="v2.1.0", tagged=date(2030, 8, 1)),
    regeneration=Regeneration(days=10, source="measured in spring"),
    owners=("robin",),
)
REBUILD = Rebuild(
    tool="retune",
    label="{train}-{number}-{arch}",
    steps=(RebuildStep(command="retune --label {label} --out {OUT}", why="the work"),),
    fill={"OUT": "a folder with room"},
    kept=(Kept(what="perf-db", why="no kernels", unless="entries are rejected"),),
)


def move(commit: str, old: int | None, new: int | None, *, day: int, subject: str = "Tidy the build (#7)") -> PinChange:
    """Return a move from number to number, `day` days after the start; the commit is one digit repeated."""
    sides = (CONVENTION[old], CONVENTION[new])
    known = "unknown" not in sides
    return PinChange(
        commit=commit * 40,
        committed_at=START + timedelta(days=day),
        pr=7,
        subject=subject,
        kinds=("ref",),
        old=side(f"f{old}"),
        new=side(f"f{new}"),
        abi=AbiChange(
            old=old,
            new=new,
            old_convention=sides[0],
            new_convention=sides[1],
            crossing=sides[0] != sides[1] if known else None,
            evidence=AbiEvidence(confidence="read" if known else None, old="header", new="header"),
        ),
        first_release=None,
    )


def side(ref: str) -> PinSide:
    return PinSide(
        site="forge.pin", repository="acme/forge", ref=ref, ref_kind="tag", resolved=None, digest=None, options=()
    )


def database(
    name: str, arch: str | None, *, after: tuple[str, ...] | None = (), day: int = 0, oid: str = "", **more: Any
) -> DatedDatabase:
    """Return a database whose content is older than the moves `after` (one digit each); None: its age is not known."""
    since = Introduction(commit="e" * 40, committed_at=START + timedelta(days=day), pr=None, subject="databases")
    fact = DatabaseFact(
        path=f"kernels/{name}.kdb",
        arch=arch,
        cu_count=None,
        known_arch=True,
        storage="git-lfs",
        oid=oid or name.encode().hex().ljust(64, "0"),
        size=1000,
        introduced=since if after is not None else None,
    )
    return DatedDatabase(fact=fact, later_moves=None if after is None else tuple(c * 40 for c in after), **more)


def scan(of: DatedDatabase, *, bare: int = 0, descriptor: int = 0, **more: Any) -> ScannedFile:
    """Return the scan of a database's content: rows by convention, all of them of one solver."""
    rows = bare + descriptor + more.get("unknown", 0)
    return ScannedFile(
        **{
            "path": of.fact.path,
            "size": 1000,
            "content_ids": (of.fact.oid,),
            "state": "ok",
            "provider_rows": rows,
            "conventions": {"bare-pointer": bare, "memref-descriptor": descriptor},
            "solvers": {"ConvFwd": rows} if rows else {},
            "stale_solvers": {"ConvFwd": descriptor} if descriptor else {},
            **more,
        }
    )


CROSSED = move("a", 41, 50, day=9)


def ticket_facts(*databases: DatedDatabase, number: int | None = 50, **more: Any) -> TicketFacts:
    """Return the facts of a pin at `number` that crossed once (`moves` to say otherwise), on 2030-06-01."""
    abi = AbiVersion(
        provider="acme/forge",
        ref=f"f{number}",
        macro="FORGE_KERNEL_ABI",
        number=number,
        convention=CONVENTION[number],
        confidence="read",
        source="the header",
    )
    return TicketFacts(
        **{
            "consumer": "acme/gadget",
            "provider": "acme/forge",
            "contract": "forge-abi",
            "train": TRAIN,
            "previous_cut": date(2030, 3, 1),
            "at": datetime(2030, 6, 1, 12, tzinfo=timezone.utc),
            "ref": "trunk",
            "commit": "c" * 40,
            "pin": f"f{number}",
            "abi": abi,
            "moves": (CROSSED,),
            "databases": databases,
            "rebuild": REBUILD,
            "owners": ("robin",),
            **more,
        }
    )
