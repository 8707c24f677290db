"""The commands of the job: what they take, and what they print."""
