"""Running tasks over partitions."""
