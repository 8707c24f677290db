-- Domains, groups of their own, and a list of them at the head of a log.
-- servers: mariadb

CREATE TABLE t (id INT PRIMARY KEY);
CREATE TABLE m (id INT PRIMARY KEY) ENGINE = MyISAM;
INSERT INTO t VALUES (1);
SET gtid_domain_id = 5, server_id = 7;
INSERT INTO t VALUES (2);
-- Several servers in one domain, the latest not the highest.
SET gtid_domain_id = 6, server_id = 30;
INSERT INTO t VALUES (30);
SET server_id = 10;
INSERT INTO t VALUES (10);
SET server_id = 40;
INSERT INTO t VALUES (40);
SET server_id = 20;
INSERT INTO t VALUES (20);
SET gtid_domain_id = 4294967295, server_id = 7, gtid_seq_no = 9223372036854775000;
INSERT INTO t VALUES (3);
SET gtid_domain_id = 0;
INSERT INTO m VALUES (1);
SET skip_parallel_replication = ON;
INSERT INTO t VALUES (4);
SET skip_parallel_replication = OFF;
FLUSH BINARY LOGS;
INSERT INTO t VALUES (5);
