"""What is kept back, how it becomes records, and how these become changes again; without I/O."""
