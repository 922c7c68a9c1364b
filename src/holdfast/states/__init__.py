"""Results that add up: each is a value with `plus`, and travels as Arrow."""
