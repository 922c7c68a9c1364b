"""Rows of several tables in one: each in a struct of its own table, by number."""

# Of which table a row is.
OF_TABLE = "of_table"
# What a task that gets them tells, pickled.
ANSWER = "answer"


def row_name(table: int) -> str:
    """Returns the name of the struct of the rows of the table with this number."""
    return f"row_{table}"
