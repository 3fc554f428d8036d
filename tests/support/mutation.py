"""Mutation tests of one module or folder: `python -m tests.support.mutation ROOM [TEST...]` (`make mutation ROOM=...`).

Works on a copy of the checkout in build/mutation: cosmic-ray changes one place of ROOM there at a time and runs TEST; a
change that no test notices survives and is printed. Without TEST, the test files that name a module of ROOM are run,
or all of the room's where none does. Ends with 1 when a mutant survived; read each: some mean the same as the original.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPY = ROOT / "build" / "mutation"
# `|` stands in types nearly everywhere; without its decorator nothing is registered; of what `is` and `==` can become,
# only the contrary tells something.
LEFT_OUT = re.compile(
    "core/(ReplaceBinaryOperator_BitOr|RemoveDecorator"
    "|ReplaceComparisonOperator_(Is_(?!IsNot)|IsNot_(?!Is$)|Eq_Is|NotEq_IsNot))"
)


def main(room: str, *chosen: str) -> int:
    """Run and report; return the exit code."""
    tests = chosen or tuple(choose_tests(room))
    copy_checkout()
    command = f"{sys.executable} -m pytest -x -q -p no:cacheprovider --no-header {' '.join(tests)}"
    os.environ |= {"PYTHONPATH": str(COPY), "PYTHONDONTWRITEBYTECODE": "1"}
    begun = time.monotonic()
    if subprocess.run(command.split(), cwd=COPY, check=False).returncode:
        sys.exit("these tests must pass before anything is changed")
    limit = 3 * (time.monotonic() - begun) + 10
    lines = (
        "[cosmic-ray]",
        f'module-path = "{room}"',
        f"timeout = {limit:.0f}",
        "excluded-modules = []",
        f'test-command = "{command}"',
        "[cosmic-ray.distributor]",
        'name = "local"',
    )
    (COPY / "mutation.toml").write_text("\n".join(lines) + "\n")
    cosmic_ray("init", "mutation.toml", "mutation.sqlite")
    leave_out()
    cosmic_ray("exec", "mutation.toml", "mutation.sqlite")
    return report()


def choose_tests(room: str) -> Iterator[str]:
    """Yield the test files that name a module of `room`, or the folder of the room's tests."""
    place = ROOT / room
    modules = [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in _python_files(place)]
    found = [
        str(file.relative_to(ROOT))
        for file in sorted((ROOT / "tests").rglob("test_*.py"))
        if any(f"from {module} import" in file.read_text(encoding="utf-8") for module in modules)
    ]
    yield from found or [f"tests/{Path(room).parts[1]}"]


def copy_checkout() -> None:
    """Copy what git knows of, or would, as it stands now."""
    shutil.rmtree(COPY, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, COPY / name)


def cosmic_ray(*arguments: str) -> None:
    """Run cosmic-ray in the copy."""
    subprocess.run([sys.executable, "-m", "cosmic_ray.cli", *arguments], cwd=COPY, check=True)


def leave_out() -> None:
    """Mark mutants that can mean nothing: those in annotations, which are never evaluated, and `LEFT_OUT`."""
    from cosmic_ray.work_db import use_db
    from cosmic_ray.work_item import WorkerOutcome, WorkResult

    skipped = WorkResult(WorkerOutcome.SKIPPED)
    spans = {file: list(annotations(file)) for file in {_file(item) for item in _items()}}
    with use_db(str(COPY / "mutation.sqlite")) as session:
        for item in list(session.pending_work_items):
            (mutation,) = item.mutations
            in_annotation = any(start <= mutation.start_pos < end for start, end in spans[_file(item)])
            if in_annotation or LEFT_OUT.match(mutation.operator_name):
                session.set_result(item.job_id, skipped)


def annotations(file: Path) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield where the annotations of a file begin and end, as (line, column)."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        for name in ("annotation", "returns"):
            part = getattr(node, name, None)
            if isinstance(part, ast.expr):
                yield (part.lineno, part.col_offset), (part.end_lineno or 0, part.end_col_offset or 0)


def report() -> int:
    """Print what survived and how many of each outcome; return 1 when something did."""
    from cosmic_ray.work_db import use_db

    outcomes: Counter[str] = Counter()
    with use_db(str(COPY / "mutation.sqlite")) as session:
        for _, result in session.completed_work_items:
            outcome = result.test_outcome.value if result.test_outcome else result.worker_outcome.value
            outcomes[outcome] += 1
            if outcome == "survived":
                print(result.diff)
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())))
    return 1 if outcomes["survived"] else 0


def _items() -> list[object]:
    from cosmic_ray.work_db import use_db

    with use_db(str(COPY / "mutation.sqlite")) as session:
        return list(session.pending_work_items)


def _file(item: object) -> Path:
    (mutation,) = item.mutations  # type: ignore[attr-defined]
    return COPY / mutation.module_path


def _python_files(place: Path) -> list[Path]:
    return sorted(place.rglob("*.py")) if place.is_dir() else [place]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
