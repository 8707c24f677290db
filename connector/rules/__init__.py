"""How servers decide what a statement leaves in the binary log: rules without I/O."""
