"""How far a stream has been delivered: position, sequences, and the record that keeps them."""
