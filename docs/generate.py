"""Write docs/reference.md from the code: commands, policies, settings, documents. `--check` fails when it is stale.

python docs/generate.py [--check]
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from relmgr.cli import LazyGroup, root
from relmgr.gate.policies import load_rules
from relmgr.model.documents import DOCUMENTS, document_schema
from relmgr.settings import load_project

PAGE = Path(__file__).parent / "reference.md"
# Options that every command takes, told once in the README.
SHARED = ("--project", "--repo", "--format", "--out", "--quiet")


def reference() -> str:
    """Return the whole page."""
    parts = ["# Reference", "Made from the code by `python docs/generate.py`; a test keeps it current.", "## Commands"]
    parts += commands(root, "relmgr")
    parts += ["## Policies", *policies(), "## Settings", *settings(), "## Documents", *documents()]
    return "\n\n".join(parts) + "\n"


def commands(command: click.Command, name: str) -> Iterator[str]:
    """Yield a section for each command below `command`, in the order of its help."""
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=name)
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            assert found is not None
            yield from commands(found, f"{name} {child}")
        return
    arguments = [_argument(p) for p in command.params if isinstance(p, click.Argument)]
    yield f"### `{' '.join([name, '[OPTIONS]', *arguments])}`"
    yield " ".join((command.help or command.short_help or "").split())
    own = [p for p in command.params if isinstance(p, click.Option) and p.opts[0] not in SHARED]
    if own:
        yield "\n".join(f"- `{_option(p)}`: {' '.join((p.help or '').split())}" for p in own)


def _argument(parameter: click.Argument) -> str:
    name = parameter.metavar or (parameter.name or "").upper()
    return name + ("..." if parameter.nargs == -1 and not name.endswith("...") else "")


def _option(parameter: click.Option) -> str:
    names = ", ".join(sorted(parameter.opts, key=len))
    if parameter.is_flag:
        return names
    choices = "|".join(str(c) for c in parameter.type.choices) if isinstance(parameter.type, click.Choice) else None
    return f"{names} {parameter.metavar or choices or parameter.type.name.upper()}"


def policies() -> Iterator[str]:
    """Yield a line for each shipped policy."""
    for rule in load_rules(load_project("miopen-rocmlir"), "develop"):
        title = " ".join(rule.policy.title.split())
        yield f"- **{rule.policy.id}** ({rule.policy.level.value}): this may merge if {title}"


def settings() -> Iterator[str]:
    """Yield a section for each table of a project file."""
    schema = document_schema("project")
    yield table("project file", schema)
    for name, definition in sorted(schema["$defs"].items()):
        if "properties" in definition:
            yield table(name, definition)


def table(name: str, definition: dict[str, Any]) -> str:
    """Return one table of settings as a list: name, whether it is required, what it is for."""
    words = " ".join(definition.get("description", "").split())
    lines = [f"### {name}", words, ""] if words else [f"### {name}", ""]
    for field, entry in definition["properties"].items():
        need = " (required)" if field in definition.get("required", ()) else ""
        about = " ".join(entry.get("description", "").split())
        lines.append(f"- `{field}`{need}{': ' + about if about else ''}")
    return "\n".join(lines)


def documents() -> Iterator[str]:
    """Yield the names that `relmgr schema` takes."""
    yield ", ".join(f"`{name}`" for name in sorted(DOCUMENTS)) + ": `relmgr schema NAME` prints the JSON Schema."


def main() -> int:
    """Write the page, or check it."""
    assert isinstance(root, LazyGroup)
    text = re.sub(r"[ \t]+\n", "\n", reference())
    if "--check" in sys.argv[1:]:
        stale = not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text
        print("docs/reference.md is stale: run `make docs`" if stale else "docs/reference.md is current")
        return int(stale)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
