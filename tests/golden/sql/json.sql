-- JSON documents of every type and size of numbers and offsets, and opaque values.
-- servers: mysql

CREATE TABLE documents (id INT PRIMARY KEY AUTO_INCREMENT, d JSON);
INSERT INTO documents (d) VALUES
  ('{}'), ('[]'), ('null'), ('""'), ('true'), ('false'), ('0'), (NULL),
  ('{"b": 1, "aa": [true, false, null], "c": {"d": {}}}'),
  ('[0, -1, 32767, 32768, -32768, -32769, 65535, 65536, 2147483648, -2147483649]'),
  ('[9223372036854775807, -9223372036854775808, 18446744073709551615]'),
  ('[1.5, 1e15, 1e16, 123456789012345680.0, 1e100, 1.5e-10, 1e-14, 1e-15, 0.1]'),
  ('["\\u0000\\u0001\\u001f\\u007f", "\\b\\f\\n\\r\\t", "\\"\\\\/", "é€😀"]'),
  (JSON_OBJECT('é', 'ü', '', 1, 'with "quote"', 2)),
  (JSON_ARRAY(CAST(1.50 AS DECIMAL(10,3)), CAST(-0.001 AS DECIMAL(65,30)))),
  (JSON_ARRAY(CAST('2015-01-15' AS DATE), CAST('2015-01-15 23:24:25.12' AS DATETIME(2)), TIMESTAMP'2015-01-15 23:24:25')),
  (JSON_ARRAY(CAST('-838:59:59' AS TIME), CAST('23:24:25.5' AS TIME(1)), TIME'-00:00:00.000001')),
  (JSON_ARRAY(CAST('x' AS BINARY), X'00FF', b'101')),
  (JSON_ARRAY(REPEAT('x', 127), REPEAT('x', 128), true)),
  (CAST(CONCAT('[', REPEAT('[', 98), REPEAT(']', 98), ']') AS JSON));

-- 5.7 prints them without a fraction.
-- only: mysql>=8.0
INSERT INTO documents (d) VALUES ('[1.0, -0.0]'), (JSON_ARRAY(ST_GeomFromText('POINT(1 2)')));

UPDATE documents SET d = JSON_SET(d, '$.b', 'two') WHERE id = 9;
DELETE FROM documents WHERE id = 10;
