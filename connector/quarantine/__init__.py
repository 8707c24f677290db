"""Changes that cannot be published: kept as log bytes until they can."""
