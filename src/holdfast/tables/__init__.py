"""What is read: layouts and types of files; no engine."""
