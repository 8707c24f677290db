"""The configuration: a TOML file, and the environment, which has priority."""
