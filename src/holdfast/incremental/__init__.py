"""Change of table to change of result: violations kept up to date."""
