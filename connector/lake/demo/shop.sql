-- The shop: five tables whose rows are mirrored, and one without a primary key, whose changes reach
-- Kafka alone. Read by the demo and by docker-compose.yml; the same text for MySQL and MariaDB.

CREATE DATABASE shop CHARACTER SET utf8mb4;

CREATE TABLE shop.customers (
  id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  email VARCHAR(120) NOT NULL UNIQUE,
  name VARCHAR(80) NOT NULL,
  born DATE,
  newsletter BIT(1) NOT NULL,
  interests SET('books', 'garden', 'games', 'music') NOT NULL,
  preferences JSON,
  fingerprint VARBINARY(32),
  balance BIGINT NOT NULL,
  created_at DATETIME(6) NOT NULL
);

CREATE TABLE shop.products (
  sku CHAR(8) CHARACTER SET latin1 NOT NULL PRIMARY KEY,
  title VARCHAR(120) NOT NULL,
  category ENUM('book', 'tool', 'toy', 'record') NOT NULL,
  description TEXT,
  price DECIMAL(12,2) NOT NULL,
  weight_kg DOUBLE,
  rating FLOAT,
  picture BLOB,
  flags BIT(12) NOT NULL,
  introduced YEAR NOT NULL,
  opens_at TIME(3),
  in_stock TINYINT UNSIGNED NOT NULL
);

-- Ids begin above the largest BIGINT that has a sign.
CREATE TABLE shop.orders (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  customer_id INT UNSIGNED NOT NULL,
  status ENUM('new', 'paid', 'sent', 'returned') NOT NULL,
  placed_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
  wanted_on DATE,
  total DECIMAL(14,4) NOT NULL,
  note MEDIUMTEXT,
  KEY (customer_id)
) AUTO_INCREMENT = 10000000000000000001;

CREATE TABLE shop.order_lines (
  order_id BIGINT UNSIGNED NOT NULL,
  line SMALLINT UNSIGNED NOT NULL,
  sku CHAR(8) CHARACTER SET latin1 NOT NULL,
  quantity MEDIUMINT NOT NULL,
  unit_price DECIMAL(12,2) NOT NULL,
  gift_text VARCHAR(200),
  PRIMARY KEY (order_id, line)
);

CREATE TABLE shop.payments (
  reference BINARY(16) NOT NULL PRIMARY KEY,
  order_id BIGINT UNSIGNED NOT NULL,
  amount DECIMAL(14,4) NOT NULL,
  paid_at DATETIME(3) NOT NULL,
  receipt LONGBLOB
);

CREATE TABLE shop.page_views (
  viewed_at DATETIME(6) NOT NULL,
  customer_id INT UNSIGNED,
  path VARCHAR(200) NOT NULL
);
