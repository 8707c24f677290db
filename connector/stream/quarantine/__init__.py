"""Quarantine: changes that cannot be published are stored as log bytes until they can.

Guards set fences, and keep back their changes and copied rows. A replay writes the
kept changes again, and lifts the fences. All of that does no I/O; only `attendant` and `topics`
talk to Kafka.
"""
