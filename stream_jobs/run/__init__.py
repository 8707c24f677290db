"""The job: its batches, its owner, and what it goes on from."""
