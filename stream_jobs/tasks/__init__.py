"""What runs in Spark's Python workers: a task, its parts and rewritten files."""
