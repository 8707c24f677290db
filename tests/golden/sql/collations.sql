-- Collations with numbers above 255, and many of them in one table.
-- servers: mysql>=8.0 mariadb>=10.10

CREATE TABLE defaults (a VARCHAR(5), b TEXT, c VARCHAR(5) CHARACTER SET latin1);
INSERT INTO defaults VALUES ('é', 'x', 'ü');
-- only: mysql>=8.0.17
CREATE TABLE mysql_collations (a VARCHAR(5) COLLATE utf8mb4_0900_as_cs, b VARCHAR(5) COLLATE utf8mb4_ja_0900_as_cs, c VARCHAR(5) COLLATE utf8mb4_0900_bin);
-- only: mysql>=8.0.17
INSERT INTO mysql_collations VALUES ('é', '日', 'x');
-- only: mariadb
CREATE TABLE mariadb_collations (a VARCHAR(5) COLLATE utf8mb4_uca1400_ai_ci, b VARCHAR(5) COLLATE utf8mb4_nopad_bin, c VARCHAR(5) CHARACTER SET utf16 COLLATE utf16_uca1400_as_cs);
-- only: mariadb
INSERT INTO mariadb_collations VALUES ('é', 'x', '€');
