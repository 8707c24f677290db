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

-- SLAVE MONITOR is optional, and exists only on MariaDB. If the source is a replica, the connector
-- sees with it how late the source is, and reads tables more slowly while it lags.
--   GRANT SLAVE MONITOR ON *.* TO 'cdc'@'%';

-- SELECT on this table is optional. With it, the connector sees how long the statements of others
-- take, without their texts, and reads tables faster as long as they take no longer for it.
--   GRANT SELECT ON performance_schema.events_statements_summary_by_account_by_event_name
--     TO 'cdc'@'%';

-- Amazon RDS and Aurora: only this table says how long they keep logs. This grant is optional; with
-- it, `check` and time_to_purge_seconds are right.
--   GRANT SELECT ON mysql.rds_configuration TO 'cdc'@'%';
