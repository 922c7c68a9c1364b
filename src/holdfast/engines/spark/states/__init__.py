"""States on Spark: change batches, files of a state, streams that are followed."""
