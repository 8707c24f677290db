"""Certificates: what anybody can compute again, of both sides at one moment of the source."""
