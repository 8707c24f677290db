"""The configuration: a TOML file, and the environment above it."""
