-- Rows of partitioned tables: MySQL says which partition they are in.

CREATE TABLE ranged (id INT PRIMARY KEY, v INT) PARTITION BY RANGE (id) (PARTITION low VALUES LESS THAN (10), PARTITION middle VALUES LESS THAN (300), PARTITION high VALUES LESS THAN MAXVALUE);
INSERT INTO ranged VALUES (1, 1), (20, 2), (400, 3);
INSERT INTO ranged VALUES (2, 1);
UPDATE ranged SET v = 9 WHERE id = 20;
UPDATE ranged SET id = 500 WHERE id = 1;
DELETE FROM ranged WHERE id = 400;
CREATE TABLE hashed (id INT PRIMARY KEY, v INT) PARTITION BY HASH (id) PARTITIONS 3;
INSERT INTO hashed VALUES (1, 1), (2, 2), (3, 3), (4, 4);
