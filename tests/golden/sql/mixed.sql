-- Statements where they are safe, rows where they are not.
-- settings: binlog_format=MIXED
-- tables: none

CREATE TABLE mixed (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(50));
INSERT INTO mixed (v) VALUES ('safe');
INSERT INTO mixed (v) VALUES (UUID());
UPDATE mixed SET v = 'safe' WHERE id = 1;
CREATE TEMPORARY TABLE scratch (id INT);
INSERT INTO scratch VALUES (1);
INSERT INTO mixed (v) SELECT id FROM scratch;
DROP TEMPORARY TABLE scratch;
