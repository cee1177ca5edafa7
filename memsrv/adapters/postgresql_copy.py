"""A copy of a PostgreSQL database in a SQLite file, made while its servers run; the database is only read."""

from pathlib import Path

from sqlalchemy import insert, select
from sqlalchemy.exc import DBAPIError

from memsrv.adapters.database import migrate
from memsrv.adapters.postgresql import PostgresqlServer
from memsrv.adapters.schema import metadata
from memsrv.adapters.sqlite import SqliteFile

ROWS = 1000  # held in memory at once


def copy_database(url: str, into: Path) -> None:
    """Copy one committed state into the file of a folder, which has none yet. Raises CannotStart and SettingsError."""
    server, file = PostgresqlServer(url), SqliteFile(into)
    reading, writing = server.reading(1), file.writing()
    try:
        with reading.begin() as source, writing.begin() as target:
            migrate(target, file.name)
            for table in metadata.sorted_tables:
                rows = source.execution_options(yield_per=ROWS).execute(select(table)).mappings()
                for part in rows.partitions():
                    target.execute(insert(table), [dict(row) for row in part])
    except DBAPIError as error:
        raise server.not_usable(error) from error
    finally:
        reading.dispose()
        writing.dispose()
