"""MySQL's character sets and collations."""
