"""The replica: a MySQL or MariaDB server that is kept equal to the mirror, cut by cut."""
