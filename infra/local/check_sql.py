"""Checks that SQL is Trino's, as Athena reads it, and that every table and column in it exists.

    check_sql.py            the views in infra/athena
    check_sql.py -          statements on standard input, each behind a line `-- name`

prints one line for each finding, `place: what is wrong`, and exits 1 if there is one. The columns are those of the template's Glue tables, and of the
views as far as they are checked. The local Athena is another database: what it takes need not be Trino.
"""

import sys
from pathlib import Path

import sam
import sqlglot
from sqlglot import exp
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify

ROOT = Path(__file__).resolve().parents[2]
# Each after those that it is built on.
VIEWS = ["order_changes", "order_timeline", "daily_totals", "refunds_by_day"]
# Glue's words for Trino's types.
TYPES = {"string": "varchar", "bigint": "bigint", "boolean": "boolean"}
# What is in Trino and DuckDB alike is all that may be used: both run the same text. json_extract_scalar, UNLOAD and their like are not.
FUNCTIONS = {"COUNT", "SUM", "MIN", "MAX", "COALESCE", "ROW_NUMBER", "LAG", "CASE", "IF", "CAST", "AND", "OR"}


def glue_tables(template: dict) -> dict:
    """Names and columns of the archive's tables, partitions included."""
    tables = {}
    for resource in template["Resources"].values():
        if resource["Type"] != "AWS::Glue::Table":
            continue
        table = resource["Properties"]["TableInput"]
        columns = table["StorageDescriptor"]["Columns"] + table.get("PartitionKeys", [])
        tables[table["Name"]] = {column["Name"]: TYPES[column["Type"]] for column in columns}
    return tables


def check(name: str, sql: str, schema: dict) -> tuple[list[str], dict]:
    """The findings in one statement, and the columns of its result."""
    try:
        statements = sqlglot.parse(sql, dialect="trino")
    except sqlglot.errors.SqlglotError as error:
        return [f"{name}: {' '.join(str(error).split())}"], {}
    if len(statements) != 1 or not isinstance(statements[0], exp.Select):
        return [f"{name}: not one SELECT"], {}
    used = {function.sql_name().upper() for function in statements[0].find_all(exp.Func)}
    findings = [f"{name}: {function} is not in the list of what both databases know" for function in sorted(used - FUNCTIONS)]
    try:
        qualified = qualify(statements[0].copy(), dialect="trino", schema=schema, validate_qualify_columns=True)
        typed = annotate_types(qualified, schema=schema, dialect="trino")
    except sqlglot.errors.SqlglotError as error:
        return [*findings, f"{name}: {' '.join(str(error).split())}"], {}
    for select in typed.find_all(exp.Table):
        if select.name not in schema and select.name not in {cte.alias for cte in typed.find_all(exp.CTE)}:
            findings.append(f"{name}: no table {select.name}")
    return findings, {column.alias_or_name: (column.type.sql() if column.type else "varchar") for column in typed.selects}


def named(text: str) -> list[tuple[str, str]]:
    """Statements behind their names."""
    parts = text.split("-- name ")[1:]
    return [tuple(part.split("\n", 1)) for part in parts]


def main() -> int:
    schema = glue_tables(sam.load())
    findings = []
    views = [(view, (ROOT / "infra/athena" / f"{view}.sql").read_text()) for view in VIEWS]
    known = {path.stem for path in (ROOT / "infra/athena").glob("*.sql")}
    findings += [f"{stray}: a view that is not in the list" for stray in sorted(known - set(VIEWS))]
    for view, sql in views:
        found, columns = check(view, sql, schema)
        findings += found
        schema[view] = columns
    others = named(sys.stdin.read()) if sys.argv[1:] == ["-"] else []
    for name, sql in others:
        findings += check(name, sql, schema)[0]
    for finding in findings:
        print(finding)
    print(f"{len(views) + len(others)} statements, {len(findings)} findings", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
