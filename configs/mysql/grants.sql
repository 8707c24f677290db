-- The account of the connector, with the least that it needs. Choose a password, and a host as
-- narrow as your network allows. The same statements serve MySQL and MariaDB.

CREATE USER 'cdc'@'%' IDENTIFIED BY 'choose-a-password';

-- REPLICATION SLAVE: to receive the binary log. It cannot be limited to some tables: whoever holds
-- it can read every change of the server.
-- REPLICATION CLIENT: to ask where the log begins and ends. MariaDB shows it as BINLOG MONITOR.
GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO 'cdc'@'%';

-- SELECT: to copy tables, at the start and on request; LOCK TABLES: for the moment in which the copy
-- of a table without a usable key begins (not on MariaDB with InnoDB). On the databases that are
-- followed, for example:
--   GRANT SELECT, LOCK TABLES ON shop.* TO 'cdc'@'%';
