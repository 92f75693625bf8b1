"""JSON log lines for programs, without personal data."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

FIELDS = ("data_set", "outcome", "release", "run", "step", "done", "total", "exit_code")
"""Additional fields: of the line about the end of a night, of lines about progress, and of a command's last line."""


class JsonLines(logging.Formatter):
    """Log records as JSON: time (UTC, ISO 8601), level, logger and message.

    Of an exception only the type is written, since its text may hold cell values.
    """

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {field: getattr(record, field) for field in FIELDS if hasattr(record, field)}
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
        return json.dumps(line, ensure_ascii=False)


def write_json_lines() -> None:
    """Send this package's log to standard error as JSON, from INFO."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("hybrid")
    logger.handlers = [handler]
    logger.setLevel(logging.INFO)
    logger.propagate = False


def writes_json_lines() -> bool:
    """True if :func:`write_json_lines` was called."""
    return any(isinstance(handler.formatter, JsonLines) for handler in logging.getLogger("hybrid").handlers)
