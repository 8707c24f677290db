-- Columns that no statement names: generated, invisible, hidden ones of functional indexes.
-- variant full: binlog_row_image=FULL
-- variant minimal: binlog_row_image=MINIMAL

CREATE TABLE generated_columns (
  id INT PRIMARY KEY, n INT, s INT GENERATED ALWAYS AS (n * 2) STORED, w INT GENERATED ALWAYS AS (n + 1) VIRTUAL);
INSERT INTO generated_columns (id, n) VALUES (1, 10), (2, NULL);
UPDATE generated_columns SET n = 20 WHERE id = 1;
-- only: mysql>=8.0.23 mariadb
CREATE TABLE invisible_columns (id INT PRIMARY KEY, v INT INVISIBLE DEFAULT 3, w INT);
-- only: mysql>=8.0.23 mariadb
INSERT INTO invisible_columns VALUES (1, 2);
-- only: mysql>=8.0.23 mariadb
UPDATE invisible_columns SET v = 4;
-- only: mysql>=8.0.13
CREATE TABLE functional_index (id INT PRIMARY KEY, name VARCHAR(20), INDEX upper_name ((UPPER(name))));
-- only: mysql>=8.0.13
INSERT INTO functional_index VALUES (1, 'ann'), (2, NULL);
-- only: mysql>=8.0.13
UPDATE functional_index SET name = 'bob' WHERE id = 1;
