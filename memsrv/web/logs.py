"""One structured line per event, on standard error."""

import logging
import sys

import structlog

LIBRARY_CHARS = 200


class Bridge(logging.Handler):
    """What libraries log, as lines of ours: without tracebacks, which hold paths and may hold text."""

    def emit(self, record: logging.LogRecord) -> None:
        structlog.get_logger().log(record.levelno, "library", library=record.name, text=record.getMessage()[:LIBRARY_CHARS])


def configure(log_format: str, log_level: str) -> None:
    """Set up structlog: JSON lines, or coloured text on a terminal."""
    console = log_format == "console" or (log_format == "auto" and sys.stderr.isatty())
    renderer: structlog.typing.Processor = structlog.dev.ConsoleRenderer() if console else structlog.processors.JSONRenderer()
    logging.basicConfig(handlers=[Bridge(logging.WARNING)], force=True)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[log_level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
