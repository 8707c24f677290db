-- Some rows for the mirror, so that it shows something before you write SQL.
INSERT INTO shop.customers
  (email, name, born, newsletter, interests, preferences, fingerprint, balance, created_at)
VALUES
  ('ada@example.com', 'Ada', '1815-12-10', b'1', 'books,music', '{"theme": "dark"}', x'00ff', 1250, '2024-02-29 12:00:00.000001'),
  ('grace@example.com', 'Grace', NULL, b'0', '', NULL, NULL, -40, '2024-03-01 08:30:00');

INSERT INTO shop.products
  (sku, title, category, description, price, weight_kg, rating, picture, flags, introduced, opens_at, in_stock)
VALUES
  ('BK-00001', 'Notes on an engine', 'book', 'With diagrams.', 24.90, 0.31, 4.7, NULL, b'101', 2024, '09:00:00.500', 200),
  ('TL-00001', 'Crank handle', 'tool', NULL, 112.00, 2.5, NULL, x'89504e47', b'0', 2023, NULL, 12);

START TRANSACTION;
INSERT INTO shop.orders (customer_id, status, wanted_on, total, note)
VALUES (1, 'new', '2024-03-09', 136.9000, 'Ring twice');
INSERT INTO shop.order_lines (order_id, line, sku, quantity, unit_price, gift_text)
VALUES
  (LAST_INSERT_ID(), 1, 'BK-00001', 1, 24.90, 'With thanks'),
  (LAST_INSERT_ID(), 2, 'TL-00001', 1, 112.00, NULL);
COMMIT;
