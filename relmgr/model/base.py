"""What every noun shares: frozen, strict about unknown keys, and the field's common words."""

from __future__ import annotations

from enum import Enum
from typing import Literal

from pydantic import BaseModel, ConfigDict


class Noun(BaseModel):
    """A frozen value; unknown keys are refused."""

    # A command uses a few of the nouns that it imports: each is built when it is first made.
    # A command uses few of the nouns that it imports: each is built when the first one is made.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Outcome(str, Enum):
    """What a check found. `unknown` means that a fact could not be read; it blocks."""

    PASSED = "passed"
    FAILED = "failed"
    PENDING = "pending"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"


class Level(str, Enum):
    """How much a verdict weighs."""

    BLOCK = "block"
    WARN = "warn"
    NOTE = "note"


Convention = Literal["memref-descriptor", "bare-pointer", "other", "unknown"]
Confidence = Literal["read", "inferred"]
