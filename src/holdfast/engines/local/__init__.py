"""Jobs in this process: the tasks that Spark would run, over Arrow tables."""
