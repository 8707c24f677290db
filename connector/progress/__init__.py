"""Where a stream stands: positions, their order, and the records that keep them."""
