-- The fewest rights that the connector needs. The password is that of docker-compose.yml, whose ports are
-- open to this machine alone.
CREATE USER 'cdc'@'%' IDENTIFIED BY 'shop-cdc';
GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO 'cdc'@'%';
-- The tables are copied first; one of them has no primary key, and is locked for a moment.
GRANT SELECT, LOCK TABLES ON shop.* TO 'cdc'@'%';
