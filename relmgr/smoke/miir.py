"""The provider's own front door: have a built compiler library generate kernels, each in a child process.

What the consumer would compile at run time is generated from the same option strings, so that what is launched is what
this library emits, and not what its header says that it emits.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from relmgr.errors import SourceError, UserError
from relmgr.model.base import Noun
from relmgr.model.project import Generator
from relmgr.smoke.kernels.problem import Problem
from relmgr.smoke.pool import worker_environment

GENERATE_SECONDS = 120.0
LINK_SECONDS = 300.0
_ARCHIVE = b"!<arch>\n"
_COMPILERS = ("c++", "g++", "clang++")


class Asked(Noun):
    """A kernel to ask for: its symbol, its option string, and what it computes (fields of `Problem`)."""

    symbol: str
    options: str
    direction: str
    dtype: str
    layout: str


class Answer(Noun):
    """What the library made of a request: the `module`, `threads` in all and per `block`; or why there is none.

    `count` is how many kernels the problem takes; `missing` the declared functions that the library does not export.
    """

    asked: Asked
    module: bytes | None = None
    count: int | None = None
    threads: int = 0
    block: int = 0
    missing: tuple[str, ...] = ()
    error: str | None = None


def ask_for(generator: Generator, problem: Problem, target: str) -> Asked:
    """Return the request for `problem` on `target`, as the consumer words it. Raises `UserError` for a bad template."""
    try:
        return _word(generator, problem, target)
    except (KeyError, IndexError, ValueError, AttributeError) as error:
        raise UserError(
            f"the contract's `generator` has no use of {error}", next_step="see its allowed names"
        ) from None


def _word(generator: Generator, problem: Problem, target: str) -> Asked:
    d = problem.dimensions
    symbol = generator.kernel_names[problem.direction]
    names = {
        **d._asdict(),
        "ho": d.ho,
        "wo": d.wo,
        "in_channels": d.g * d.c,
        "out_channels": d.g * d.k,
        "operation": generator.operations[problem.direction],
        "type": generator.types[problem.dtype],
        "out_type": generator.out_types.get(problem.dtype, generator.types[problem.dtype]),
        "arch": generator.arch.format(target=target),
        "kernel_name": symbol,
        **generator.layouts[problem.layout],
    }
    options = generator.options.format(**names)
    return Asked(
        symbol=symbol, options=options, direction=problem.direction, dtype=problem.dtype, layout=problem.layout
    )


def generate_all(library: Path, requests: Sequence[Asked], declared: Sequence[str]) -> Iterator[Answer]:
    """Yield the library's answer to each request; one that ends its process costs the others nothing."""
    with tempfile.TemporaryDirectory(prefix="relmgr-miir-") as folder:
        for number, asked in enumerate(requests):
            yield _generate(library, asked, declared, Path(folder) / str(number))


def generate_by_command(command: Sequence[str], requests: Sequence[Asked]) -> Iterator[Answer]:
    """Yield what a program makes of each request; it tells no count and no launch size, so nothing can be launched.

    `{options}` alone stands for the words of the option string, `{out}` for the file that it has to write.
    """
    with tempfile.TemporaryDirectory(prefix="relmgr-generate-") as folder:
        for number, asked in enumerate(requests):
            to = Path(folder) / str(number)
            words: list[str] = []
            for word in command:
                words += asked.options.split() if word == "{options}" else [word.replace("{out}", str(to))]
            yield _generate_by_command(words, asked, to)


def _generate_by_command(words: list[str], asked: Asked, to: Path) -> Answer:
    try:
        run = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=GENERATE_SECONDS)
    except OSError as error:
        return Answer(asked=asked, error=f"{words[0]} cannot be run: {error.strerror}")
    except subprocess.TimeoutExpired:
        return Answer(asked=asked, error=f"no answer within {GENERATE_SECONDS:g} s")
    if run.returncode:
        return Answer(asked=asked, error=_how_it_ended(run))
    if not to.is_file():
        return Answer(asked=asked, error="the generator wrote no file")
    return Answer(asked=asked, module=to.read_bytes())


def _generate(library: Path, asked: Asked, declared: Sequence[str], to: Path) -> Answer:
    job = {"library": str(library), "options": asked.options, "declared": list(declared), "to": str(to)}
    command = [sys.executable, "-m", "relmgr.smoke.miir_child"]
    try:
        run = subprocess.run(
            command,
            input=json.dumps(job).encode(),
            capture_output=True,
            timeout=GENERATE_SECONDS,
            env=worker_environment(),
        )
    except subprocess.TimeoutExpired:
        return Answer(asked=asked, error=f"no answer within {GENERATE_SECONDS:g} s")
    if run.returncode or not run.stdout:
        return Answer(asked=asked, error=_how_it_ended(run))
    told = json.loads(run.stdout)
    module = to.read_bytes() if "error" not in told else None
    to.unlink(missing_ok=True)
    return Answer.model_validate({"asked": asked, "module": module, **told})


def _how_it_ended(run: subprocess.CompletedProcess[bytes]) -> str:
    words = run.stderr.decode(errors="replace").strip().splitlines()
    last = f": {words[-1][-300:]}" if words else ""
    if run.returncode < 0:
        return f"the generator ended by signal {signal.Signals(-run.returncode).name}{last}"
    return f"the generator ended with exit code {run.returncode}{last}"


def shared_library(file: Path, link_with: Sequence[str], folder: Path) -> Path:
    """Return a library that can be opened: `file`, or for a static archive one linked from the whole of it in `folder`.

    `link_with` are further arguments of the link, such as `-lz`. Raises `SourceError` where it cannot be linked.
    """
    try:
        with file.open("rb") as stream:
            is_archive = stream.read(len(_ARCHIVE)) == _ARCHIVE
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", where=str(file), next_step="check --miir-lib") from None
    if not is_archive:
        return file.resolve()
    compiler = next((path for name in _COMPILERS if (path := shutil.which(os.environ.get("CXX", name)))), None)
    if compiler is None:
        raise SourceError("a static archive needs a C++ compiler to be linked", next_step="install one (g++)")
    linked = folder / "libprovider.so"
    whole = ["-Wl,--whole-archive", str(file.resolve()), "-Wl,--no-whole-archive"]
    command = [compiler, "-shared", "-o", str(linked), *whole, *link_with]
    try:
        run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=LINK_SECONDS)
    except subprocess.TimeoutExpired:
        raise SourceError(
            f"not linked within {LINK_SECONDS:g} s", where=str(file), next_step="link it yourself"
        ) from None
    if run.returncode:
        lines = run.stderr.strip().splitlines()
        raise SourceError(
            f"cannot be linked: {lines[0] if lines else 'no message'}",
            where=str(file),
            next_step="name what it needs with --miir-link, such as --miir-link=-lz",
        )
    return linked
