"""The definitions of tables, as the server shows them."""
