-- Changes as statements, with what they need from the session.
-- settings: binlog_format=STATEMENT
-- tables: none

CREATE TABLE numbers (id INT PRIMARY KEY AUTO_INCREMENT, n DOUBLE, v VARCHAR(50));
INSERT INTO numbers (n) VALUES (1), (2);
INSERT INTO numbers (n) VALUES (LAST_INSERT_ID());
SET rand_seed1 = 1234567, rand_seed2 = 7654321;
INSERT INTO numbers (n) VALUES (RAND());
SET @text = 'it''s é', @whole = -5, @unsigned = 18446744073709551615, @real = 0.1, @decimal = 123.4500, @nothing = NULL, @latin = _latin1 X'E9', @bytes = X'00FF', @`odd``name` = 1;
INSERT INTO numbers (v) VALUES (@text), (@whole), (@unsigned), (@real), (@decimal), (@nothing), (@latin), (HEX(@bytes)), (@`odd``name`);
UPDATE numbers SET v = 'it''s', n = 2 WHERE id = 1;
SET timestamp = 1767225600.654321;
INSERT INTO numbers (v) VALUES (NOW(6));
SET timestamp = 1767225600;
SET time_zone = 'SYSTEM';
SET time_zone = '+05:30';
INSERT INTO numbers (v) VALUES (NOW());
SET time_zone = '+00:00';
SET lc_time_names = 'en_GB';
INSERT INTO numbers (v) VALUES (DAYNAME('2026-01-01'));
SET lc_time_names = 'en_US';
SET auto_increment_increment = 10, auto_increment_offset = 5;
INSERT INTO numbers (v) VALUES ('by ten');
SET auto_increment_increment = 1, auto_increment_offset = 1;
SET foreign_key_checks = OFF, unique_checks = OFF;
INSERT INTO numbers (v) VALUES ('unchecked');
SET foreign_key_checks = ON, unique_checks = ON;
SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES';
INSERT INTO "numbers" (v) VALUES ('\');
SET sql_mode = '';
CREATE DATABASE golden_other CHARACTER SET latin1;
CREATE TABLE golden_other.t (id INT PRIMARY KEY);
INSERT INTO golden_other.t VALUES (1);
CREATE TABLE loaded (id INT PRIMARY KEY, word VARCHAR(20), more VARCHAR(20));
LOAD DATA LOCAL INFILE 'load.txt' INTO TABLE loaded FIELDS TERMINATED BY ',' ENCLOSED BY '"' LINES TERMINATED BY '\n' IGNORE 1 LINES (id, word, @more) SET more = UPPER(@more);
LOAD DATA LOCAL INFILE 'load.txt' REPLACE INTO TABLE loaded FIELDS TERMINATED BY ',' IGNORE 1 LINES;
CREATE TABLE not_transactional (id INT PRIMARY KEY) ENGINE = MyISAM;
INSERT INTO not_transactional VALUES (1);
SET character_set_client = latin1;
INSERT INTO numbers (v) VALUES ('é in latin1');
SET NAMES utf8mb4;
-- only: mysql>=9.7
SET enable_cascade_triggers = NOT @@enable_cascade_triggers;
DELETE FROM numbers WHERE id = 2;
TRUNCATE TABLE loaded;
