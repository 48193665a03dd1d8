"""Read-only SQL over the tables of a capture, whatever its format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roofline.captures.capture import TABLES, Capture
from roofline.errors import MissingTableError, OptionalDependencyError, QueryError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["query"]


def query(capture: Capture, sql: str) -> pa.Table:
    """Return the result of a DuckDB query over the capture's tables by their names.

    The connection has the tables in memory and nothing else: files, the network, extensions and
    settings are closed to it before the query runs, and only one SELECT is accepted. Raises
    ``QueryError`` for a query DuckDB refuses, ``OptionalDependencyError`` without DuckDB.
    """
    try:
        import duckdb
    except ImportError as error:
        raise OptionalDependencyError("--sql needs DuckDB: pip install 'roofline[sql]'") from error
    connection = duckdb.connect(":memory:")
    try:
        for name in capture.sources or TABLES:
            try:
                table = capture.table(name)
            except MissingTableError:
                continue
            connection.register(name, table)
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        sql.encode()  # bytes of an argument that are no text are a TypeError to duckdb
        statements = connection.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            kinds = ", ".join(one.type.name for one in statements) or "nothing"
            raise QueryError(f"--sql takes one SELECT, not {kinds}")
        result: Any = connection.sql(statements[0]).to_arrow_table()
    except duckdb.Error as error:
        raise QueryError(f"--sql: {error}") from None
    finally:
        connection.close()
    return result
