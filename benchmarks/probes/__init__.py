"""Consumers that watch from outside; they run in the environment of the rivals, with librdkafka."""
