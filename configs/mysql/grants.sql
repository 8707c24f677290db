-- The account of the connector, with the fewest rights that it needs. Choose a password, and a host
-- as narrow as your network allows. The same statements work on MySQL and MariaDB.

CREATE USER 'cdc'@'%' IDENTIFIED BY 'choose-a-password';

-- REPLICATION SLAVE: to receive the binary log. It cannot be limited to some tables: an account
-- with it can read every change of the server.
-- REPLICATION CLIENT: to ask where the log begins and ends. MariaDB shows it as BINLOG MONITOR.
GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO 'cdc'@'%';

-- SELECT: to copy tables (source.start = "snapshot", the default, and `binlog-connector snapshot`),
-- and to ask for columns if the log does not name them (binlog_row_metadata other than FULL, and
-- MySQL 5.7). LOCK TABLES: for the moment in which the copy of a table without a usable key begins
-- (not needed on MariaDB with InnoDB). A server shows foreign keys that cascade only to an account
-- that may read the table which has them. Grant both for each followed database; here, shop:
GRANT SELECT, LOCK TABLES ON shop.* TO 'cdc'@'%';

-- XA_RECOVER_ADMIN (MySQL 8.0 and later) is optional. With it, a new pipeline warns of XA
-- transactions that were prepared before it began, because their XA COMMIT will stop it.
--   GRANT XA_RECOVER_ADMIN ON *.* TO 'cdc'@'%';

-- TRIGGER, EVENT are optional. With them, `check` sees which changes by triggers and events would not
-- arrive as whole rows. You may take them back after the `check`.
--   GRANT TRIGGER, EVENT ON *.* TO 'cdc'@'%';

-- Amazon RDS and Aurora: only this table says how long they keep logs. This grant is optional; with
-- it, `check` and time_to_purge_seconds are right.
--   GRANT SELECT ON mysql.rds_configuration TO 'cdc'@'%';
