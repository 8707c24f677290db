"""Programs around the decoders and connectors of others; those in Python run on their own."""
