"""The position of a stream: positions, their order, and the records that keep them."""
