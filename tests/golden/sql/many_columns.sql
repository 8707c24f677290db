-- More columns than one byte can count.
-- servers: mysql>=8.0.30 mariadb>=11

SET SESSION group_concat_max_len = 100000;
SET @create = (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 255) SELECT CONCAT('CREATE TABLE broad (', GROUP_CONCAT('c', i, IF(i % 3, ' TINYINT', ' VARCHAR(5)') ORDER BY i), ', PRIMARY KEY (c1))') FROM n);
PREPARE s FROM @create;
EXECUTE s;
INSERT INTO broad (c1, c8, c9, c16, c17, c250, c251, c252, c253, c255) VALUES (1, 8, 'nine', 16, 17, -128, 127, 'a', 0, 'z');
UPDATE broad SET c254 = 4, c255 = NULL;
