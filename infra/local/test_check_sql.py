"""What the check of the SQL finds."""

import unittest

import check_sql

SCHEMA = {"changes": {"order_id": "varchar", "version": "bigint", "dt": "varchar"}}


class CheckSql(unittest.TestCase):
    def finds(self, sql: str, *parts: str) -> None:
        findings, _ = check_sql.check("q", sql, dict(SCHEMA))
        self.assertEqual(len(findings), len(parts), findings)
        for finding, part in zip(findings, parts, strict=True):
            self.assertIn(part, finding)

    def test_a_select_over_what_there_is_passes(self) -> None:
        self.finds("SELECT order_id, MAX(version) AS newest FROM changes WHERE dt = '2026-01-31' GROUP BY order_id")
        self.finds("WITH c AS (SELECT * FROM changes) SELECT version FROM c")

    def test_what_is_no_trino_is_found(self) -> None:
        self.finds("SELECT FROM WHERE", "q: ")
        self.finds("SELECT order_id FROM changes; SELECT 1", "not one SELECT")
        self.finds("DROP TABLE changes", "not one SELECT")

    def test_a_column_or_table_that_is_not_there_is_found(self) -> None:
        self.finds("SELECT nope FROM changes", "nope")
        self.finds("SELECT c.nope FROM changes AS c", "nope")
        self.finds("SELECT 1 AS one FROM nowhere", "nowhere")

    def test_a_function_that_only_one_of_the_databases_knows_is_found(self) -> None:
        self.finds("SELECT JSON_EXTRACT_SCALAR(order_id, '$.a') AS a FROM changes", "JSON_EXTRACT_SCALAR")


if __name__ == "__main__":
    unittest.main()
