-- Updates that log the changes of a JSON document in place of the document.
-- servers: mysql>=8.0.3
-- settings: binlog_row_value_options=PARTIAL_JSON
-- variant full: binlog_row_image=FULL
-- variant minimal: binlog_row_image=MINIMAL

CREATE TABLE documents (id INT PRIMARY KEY, a JSON, n INT, b JSON, c JSON);
INSERT INTO documents VALUES
  (1, '{"k": "value that leaves some room", "list": [1, 2, 3], "o": {"x y": 1, "z": {"deep": true}}}', 1, '[1, "two", null, {"three": 3}]', NULL),
  (2, CONCAT('{"long": "', REPEAT('x', 300), '", "n": 1.50}'), 2, '{"a": {"b": [0, [1, 2]]}}', '"scalar"');
UPDATE documents SET a = JSON_SET(a, '$.k', 'short') WHERE id = 1;
UPDATE documents SET a = JSON_REPLACE(a, '$.list[1]', 22, '$.o."x y"', 0), b = JSON_SET(b, '$[1]', 'zwei') WHERE id = 1;
UPDATE documents SET a = JSON_REMOVE(a, '$.list[0]', '$.o.z.deep'), n = n + 1 WHERE id = 1;
UPDATE documents SET b = JSON_SET(b, '$[3].three', 4, '$[0]', 0) WHERE id = 1;
UPDATE documents SET a = JSON_SET(a, '$.long', NULL), b = JSON_SET(b, '$.a.b[1][0]', -1) WHERE id = 2;
UPDATE documents SET a = JSON_SET(a, '$.n', CAST('12:30:00.25' AS TIME(2))) WHERE id = 2;
UPDATE documents SET c = '{"whole": "document"}' WHERE id = 2;
UPDATE documents SET n = n + 10;
UPDATE documents SET a = JSON_INSERT(a, '$.new', 1), b = JSON_ARRAY_APPEND(b, '$', 'end') WHERE id = 1;
DELETE FROM documents WHERE id = 2;
