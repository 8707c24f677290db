-- What TABLE_MAP tells of a table.
-- servers: mysql>=8.0 mariadb
-- variant full: binlog_row_metadata=FULL
-- variant minimal: binlog_row_metadata=MINIMAL

CREATE TABLE described (
  `größe` INT UNSIGNED, `quoted``name` BIGINT, e ENUM('a', 'ü'), s SET('x', 'y') CHARACTER SET latin1,
  v VARCHAR(10) CHARACTER SET latin1 COLLATE latin1_bin, u VARCHAR(10), b BLOB, g GEOMETRY, p POINT,
  d DECIMAL(5,2) UNSIGNED, f FLOAT UNSIGNED, y YEAR, PRIMARY KEY (v(3), `größe`));
INSERT INTO described VALUES
  (1, -1, 'ü', 'x,y', 'text', 'é', X'00', ST_GeomFromText('POINT(1 1)'), NULL, 1.5, 1.5, 2026),
  (4294967295, NULL, NULL, NULL, 'x', NULL, NULL, NULL, NULL, NULL, NULL, NULL);

-- One default character set for many columns, and one for each.
CREATE TABLE same_charset (a VARCHAR(5), b TEXT, c CHAR(5), d CHAR(5) CHARACTER SET ascii);
INSERT INTO same_charset VALUES ('a', 'b', 'c', 'd');
CREATE TABLE mixed_charsets (a CHAR(5) CHARACTER SET ascii, b CHAR(5) CHARACTER SET latin1, c CHAR(5) CHARACTER SET utf16);
INSERT INTO mixed_charsets VALUES ('a', 'ü', '€');
CREATE TABLE mixed_labels (a ENUM('ä') CHARACTER SET latin1, b ENUM('€') CHARACTER SET utf8mb4, c SET('Ω') CHARACTER SET utf16);
INSERT INTO mixed_labels VALUES (1, 1, 1);
CREATE TABLE composite (a INT, b VARCHAR(50), c INT, PRIMARY KEY (c, a));
INSERT INTO composite VALUES (1, 'x', 2);
-- only: mysql
CREATE TABLE shapes (p POINT, l LINESTRING, y POLYGON, mp MULTIPOINT, ml MULTILINESTRING, my MULTIPOLYGON, gc GEOMETRYCOLLECTION);
-- only: mysql
INSERT INTO shapes (p) VALUES (POINT(1, 2));
