"""What every noun shares: frozen, strict about unknown keys, and the field's common words."""

from __future__ import annotations

from enum import Enum
from typing import Literal

from pydantic import BaseModel, ConfigDict


class Noun(BaseModel):
    """A frozen value; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


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
