"""Where a stream starts, and whether a server has what comes then."""
