"""Tables that are set aside: which errors do it, and the record of each."""
