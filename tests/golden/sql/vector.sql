-- VECTOR columns.
-- servers: mysql>=9.0 mariadb>=11.7

CREATE TABLE vectors (id INT PRIMARY KEY, v VECTOR(3), w VECTOR(1));
-- only: mysql
INSERT INTO vectors VALUES (1, STRING_TO_VECTOR('[1, -2.5, 3e38]'), STRING_TO_VECTOR('[0.1]')), (2, STRING_TO_VECTOR('[1]'), NULL);
-- only: mariadb
INSERT INTO vectors VALUES (1, VEC_FromText('[1, -2.5, 3e38]'), VEC_FromText('[0.1]')), (2, NULL, NULL);
UPDATE vectors SET w = v WHERE id = 3;
DELETE FROM vectors WHERE id = 2;
