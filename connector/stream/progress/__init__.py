"""The progress of a stream: its position, its sequences, and the record that stores them."""
