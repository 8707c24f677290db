"""The source of a stream: which server is read, whether it is fit, and what tables it has."""

from __future__ import annotations
