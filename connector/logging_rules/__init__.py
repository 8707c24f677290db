"""How servers decide what a statement leaves in the log: rules without I/O."""
