"""relmgr keeps a pinned kernel compiler honest."""

__version__ = "0.1.0"
