"""Files of logs: their bytes, their events, and logs of several files that may still grow."""
