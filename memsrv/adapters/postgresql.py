"""What only PostgreSQL knows: how a connection is set up, how writers take turns, what its errors mean.

Writers of every process take turns by an advisory lock of their transactions, so what was read in a write is still true when
it ends, and positions have no gap, without a retry. Readers see a snapshot and wait for nobody. The driver is psycopg.

Nothing here tells the password of the URL. Deleted text is the server's own to clear away (autovacuum), and its backups'.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, InterfaceError, OperationalError
from sqlalchemy.pool import QueuePool

from memsrv.errors import BadRequest, CannotStart, DiskFull, Internal, MemsrvError, SettingsError, StoreDown

NEEDED = 14  # idle_session_timeout
CONNECT_S = 5
LOCK_WAIT_MS = 5000
HANG_MS = 20_000  # so long may a process that hangs hold up the writers of all others
ABSENT_MS = 10_000  # so long may one that hangs keep its locks
LOCKS = "hashtext('memsrv ' || current_schema())"
"""The first of the two numbers of an advisory lock: two memsrvs in two schemas of one database do not share locks."""
WRITE_LOCK = 0
LEAD_LOCK = -1
DISK_FULL, NO_RIGHT = "53100", "42501"
TOO_MUCH = ("22", "54")  # a value out of range, a text that is too long for an index
OUT_OF_REACH = ("08", "25", "28", "40", "53", "55", "57", "58", "F0", "XX")
"""Classes of SQLSTATE that may pass: connections, locks, resources, shutdowns, a server that is read-only, input and output."""
HINT = "Check MEMSRV_DATABASE_URL, and that the PostgreSQL server is up; 'memsrv doctor' tries it."
RIGHTS = "The role must own the database, or may CREATE in its schema: ALTER DATABASE name OWNER TO role."
EXTRA = "Install it with: pip install 'psycopg[binary]' (memsrv's extra 'postgresql')."


class PostgresqlServer:
    """database.Vendor for a database of a PostgreSQL server."""

    name = "The database at MEMSRV_DATABASE_URL"
    keeps_traces = False

    def __init__(self, url: str):
        self._url = parsed(url)

    def writing(self) -> Engine:
        """One transaction at a time, whatever process begins it; each is on the disk when it ends."""
        options = {"lock_timeout": LOCK_WAIT_MS, "idle_in_transaction_session_timeout": HANG_MS, "synchronous_commit": "on"}
        made = self._engine(1, options)
        turn = f"SELECT pg_advisory_xact_lock({LOCKS}, {WRITE_LOCK})"
        event.listen(made, "begin", lambda connection: connection.exec_driver_sql(turn))
        return made

    def reading(self, connections: int) -> Engine:
        """Each transaction reads one committed state and can do nothing else."""
        one_state = {"default_transaction_isolation": "repeatable\\ read", "default_transaction_read_only": "on"}
        return self._engine(connections, one_state)

    def locking(self) -> Engine:
        """One connection that holds locks for as long as it asks something at least every ABSENT_MS."""
        made = self._engine(1, {"idle_session_timeout": ABSENT_MS})
        return made.execution_options(isolation_level="AUTOCOMMIT")

    def check(self, connection: Connection) -> None:
        """Raise CannotStart for a server that is too old, another encoding, or no schema to be in."""
        version, encoding, schema = connection.exec_driver_sql(
            "SELECT current_setting('server_version_num')::int / 10000, current_setting('server_encoding'), current_schema()"
        ).one()
        check_version(version)
        if encoding != "UTF8":
            raise CannotStart(
                f"{self.name} has the encoding {encoding}, which does not hold every text.",
                "Make one with: CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0.",
            )
        if schema is None:
            raise CannotStart(f"{self.name} has no schema that the role may use.", "Check the role's search_path.")

    def describe(self, connection: Connection) -> str:
        version, name, schema, size = connection.exec_driver_sql(
            "SELECT current_setting('server_version'), current_database(), current_schema(),"
            " pg_size_pretty(pg_database_size(current_database()))"
        ).one()
        return f"PostgreSQL {version}, database {name}, schema {schema}, {size}"

    def integrity(self, connection: Connection) -> list[str]:
        """Nothing: constraints hold always, and the server looks after its own pages."""
        return []

    def in_our_words(self, error: DBAPIError) -> MemsrvError:
        """A driver's error as one of ours."""
        state = str(getattr(error.orig, "sqlstate", None) or "")
        if state == DISK_FULL:
            return DiskFull(
                "The disk is full; nothing was written.", "Free some space on the PostgreSQL server; memsrv goes on by itself."
            )
        if error.connection_invalidated:
            return StoreDown("The store was lost on the way; a write may have been done or not.")
        if state.startswith(TOO_MUCH) or isinstance(error, DataError):
            return BadRequest("A number is too large, or a text too long.")
        if state.startswith(OUT_OF_REACH) or isinstance(error, (OperationalError, InterfaceError)):
            return StoreDown("The store cannot be used at the moment; nothing was written.")
        return Internal("The store refused what the server asked of it.")

    def not_usable(self, error: DBAPIError) -> CannotStart:
        """The first line of what the server or the driver said; neither tells the password."""
        said = (str(error.orig).strip().splitlines() or [type(error.orig).__name__])[0]
        if self._url.password:
            said = said.replace(str(self._url.password), "********")
        hint = RIGHTS if getattr(error.orig, "sqlstate", None) == NO_RIGHT else HINT
        return CannotStart(f"{self.name} cannot be used: {said.rstrip('.')}.", hint)

    def note_traces(self, connection: Connection) -> None:
        """Autovacuum sees by itself what was deleted."""

    def has_traces(self, engine: Engine) -> bool:
        return False

    def purge(self, engine: Engine, upto_bytes: int | None) -> bool:
        return True

    def _engine(self, connections: int, options: Mapping[str, Any]) -> Engine:
        own = " ".join(f"-c {name}={value}" for name, value in options.items())
        asked = str(self._url.query.get("options", ""))
        arguments = {
            "application_name": "memsrv",
            "client_encoding": "utf8",
            "connect_timeout": CONNECT_S,
            "tcp_user_timeout": 1000 * CONNECT_S,
            "options": f"{asked} {own}".strip(),
        }
        try:
            return create_engine(
                self._url.difference_update_query(["options"]),
                connect_args=arguments,
                poolclass=QueuePool,
                pool_size=connections,
                max_overflow=0,
                pool_pre_ping=True,  # a server that was started anew is found at the first try
            )
        except ModuleNotFoundError as error:
            raise SettingsError("MEMSRV_DATABASE_URL needs the driver psycopg, which is not installed.", EXTRA) from error


def check_version(found: int) -> None:
    """Raise CannotStart when the server is too old."""
    if found < NEEDED:
        raise CannotStart(f"PostgreSQL {NEEDED} or newer is needed; the server is version {found}.")


def parsed(url: str) -> URL:
    """The URL with our driver. Raises SettingsError, which does not tell the URL."""
    try:
        made = make_url(url)
    except (ArgumentError, ValueError):
        raise SettingsError("MEMSRV_DATABASE_URL is no URL.", "Write it as postgresql://user:password@host/database.") from None
    return made.set(drivername="postgresql+psycopg")
