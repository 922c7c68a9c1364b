"""Results to text and JSON, in the user's own values."""
