"""Kernel databases: what a file's name says, pointers to them, their rows, and what a scan or a comparison found."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from relmgr.model.base import Noun

DatabaseKind = Literal["kdb", "ukdb", "perf-db", "find-db", "other"]


class DatabaseName(Noun):
    """What a database's file name says.

    `kind` is `other` for a file that is no database. `base` is the name before the kind's suffix. `arch` is the
    processor, and where it is not one of the known (`known_arch` False) the text that stands in its place, or None when
    none does. `cu_count` is None for a file that serves every chip of its arch.
    """

    kind: DatabaseKind
    arch: str | None
    cu_count: int | None
    base: str
    packing: Literal["bz2"] | None = None
    known_arch: bool
    user: bool = Field(default=False, description="one user's cache, not a shipped file")
    dvc: bool = Field(default=False, description="named as a DVC pointer")


class Pointer(Noun):
    """A file that stands for another one: `oid` in hex under `algorithm`, `size` in bytes (None: not told)."""

    form: Literal["git-lfs", "dvc"]
    algorithm: Literal["sha256", "md5", "etag"]
    oid: str
    size: int | None
    path: str | None = Field(default=None, description="the name of the file it stands for, where the pointer tells")


class Problem(Noun):
    """The convolution a row's kernel was compiled for. None: the options do not tell."""

    solver: str | None
    direction: str | None = Field(description="fwd, bwd-data or wrw")
    dtype: str | None
    layout: str | None = Field(description="the input's layout, without the group dimension")
    arch: str | None
    target: str | None = Field(description="the target id as written, features included")
    xdlops: bool
    num_cu: int | None
    kernel_id: int | None
    groups: int | None
    batch: int | None
    in_channels: int | None
    out_channels: int | None
    in_h: int | None
    in_w: int | None
    out_h: int | None
    out_w: int | None
    fil_h: int | None
    fil_w: int | None
    dilation_h: int | None
    dilation_w: int | None
    conv_stride_h: int | None
    conv_stride_w: int | None
    padding_h: int | None
    padding_w: int | None
    perf_config: str | None
