-- The least that the connector needs. The password is that of docker-compose.yml, whose ports are
-- open to this machine alone.
CREATE USER 'cdc'@'%' IDENTIFIED BY 'shop-cdc';
GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO 'cdc'@'%';
GRANT SELECT ON shop.* TO 'cdc'@'%';
