-- Times as they were stored before MySQL 5.6, which MariaDB still can.
-- servers: mariadb
-- settings: mysql56_temporal_format=OFF

CREATE TABLE old_times (
  id INT PRIMARY KEY, d DATE, dt DATETIME, ts TIMESTAMP NULL, t TIME);
INSERT INTO old_times VALUES
  (1, '2019-07-09', '2019-07-09 02:28:57', '2038-01-19 03:14:07', '-838:59:59'),
  (2, '0000-00-00', '0000-00-00 00:00:00', '0000-00-00 00:00:00', '00:00:01'),
  (3, '2010-00-00', '9999-12-31 23:59:59', '1970-01-01 00:00:01', '838:59:59'),
  (4, NULL, NULL, NULL, NULL);
UPDATE old_times SET t = '-00:00:01' WHERE id = 2;
