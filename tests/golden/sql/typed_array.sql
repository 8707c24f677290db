-- The hidden column of a multi-valued index, of each type that an array can have.
-- servers: mysql>=8.0.17

CREATE TABLE arrays (
  id INT PRIMARY KEY, d JSON,
  INDEX u ((CAST(d->'$.u' AS UNSIGNED ARRAY))), INDEX s ((CAST(d->'$.s' AS SIGNED ARRAY))),
  INDEX c ((CAST(d->'$.c' AS CHAR(20) ARRAY))), INDEX b ((CAST(d->'$.b' AS BINARY(20) ARRAY))),
  INDEX n ((CAST(d->'$.n' AS DECIMAL(10,2) ARRAY))), INDEX da ((CAST(d->'$.da' AS DATE ARRAY))),
  INDEX dt ((CAST(d->'$.dt' AS DATETIME(3) ARRAY))), INDEX t ((CAST(d->'$.t' AS TIME(2) ARRAY))));
INSERT INTO arrays VALUES (1, '{"u": [1, 18446744073709551615], "s": [-1, 2], "c": ["a", "é"], "n": [1.5, -2.25]}'), (2, NULL), (3, '{"u": [], "s": 7}');
INSERT INTO arrays VALUES (4, JSON_OBJECT('da', JSON_ARRAY(DATE'2026-01-02'), 'dt', JSON_ARRAY(TIMESTAMP'2026-01-02 03:04:05.678'), 't', JSON_ARRAY(TIME'-12:34:56.78')));
UPDATE arrays SET d = JSON_SET(d, '$.u', JSON_ARRAY(5)) WHERE id = 1;
DELETE FROM arrays WHERE id = 3;
