"""Arrays in, arrays out; knows no column names."""
