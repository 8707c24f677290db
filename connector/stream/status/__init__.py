"""What somebody on call sees of a pipeline: one model of the facts, a page, and a terminal."""
