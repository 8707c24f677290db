"""The events that a server sends."""
