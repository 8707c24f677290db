"""Which columns records have, and values that they have in another form: masks, hashes, cuts."""
