"""The transactions of the shop; each method is one of them, and changes rows in its own way.

The methods execute statements, and count the row records that a commit will cause. `Workload`
decides when they run, and commits or rolls back.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

from pymysql.cursors import Cursor

from connector.lake.demo.shop import CATEGORIES, CHANNELS, RandomValues

NEW_PRODUCT_SHARE = 0.3


class Shop:
    """The transactions of the shop on one connection."""

    def __init__(self, cursor: Cursor, random: Random) -> None:
        """Draw all random values from `random`."""
        self._cursor = cursor
        self._random = random
        self._values = RandomValues(random)
        self._customers: list[int] = []
        self._products: list[str] = []
        self._orders: list[int] = []
        self._unpaid: list[int] = []
        self._has_channel = False
        # Records of the open transaction by table: one for each row, two if its primary key
        # changes.
        self.pending: Counter[str] = Counter()

    @property
    def transactions(self) -> dict[Callable[[], None], int]:
        """The transactions, and their relative frequency."""
        return {
            self.place_order: 30,
            self.pay: 16,
            self.register_customers: 6,
            self.edit_customer: 12,
            self.change_prices: 4,
            self.edit_product: 8,
            self.cancel_order: 10,
            self.renumber_lines: 3,
            self.rename_product: 2,
            self.browse: 6,
            self.forget_page_views: 1,
            self.change_mind: 4,
        }

    def open(self, customers: int, products: int) -> None:
        """Insert the first products."""
        self._insert_customers(customers)
        for _ in range(products):
            self._insert_product(self._values.sku())

    def learn_channel(self) -> None:
        """From now on, orders have a column `channel`."""
        self._has_channel = True

    # Inserts: one row, several rows of one statement, several tables of one transaction.

    def place_order(self) -> None:
        """Insert an order, its lines in one statement, and the page view that led to it."""
        order = self._insert_order()
        self._browse(1)
        self._unpaid.append(order)

    def register_customers(self) -> None:
        """Insert a few customers with one statement."""
        self._insert_customers(self._random.randint(1, 5))

    def browse(self) -> None:
        """Insert equal rows into the table without a primary key."""
        self._browse(self._random.randint(2, 5))

    # Updates and deletes: of one row, of many, of several tables.

    def pay(self) -> None:
        """Insert a payment and update its order."""
        if not self._unpaid:
            return
        order = self._unpaid.pop(self._random.randrange(len(self._unpaid)))
        values = self._values
        self._change(
            "payments",
            "INSERT INTO payments SELECT %s, id, total, %s, %s FROM orders WHERE id = %s",
            (values.reference(), values.moment(), values.blob(0, 20, 3000), order),
        )
        self._change("orders", "UPDATE orders SET status = 'paid' WHERE id = %s", (order,))
        self._orders.append(order)

    def edit_customer(self) -> None:
        """Update many columns of one row, to NULL and back."""
        values = self._values
        self._change(
            "customers",
            "UPDATE customers SET name = %s, born = %s, newsletter = newsletter ^ 1,"
            " interests = %s, preferences = %s, fingerprint = %s, balance = %s WHERE id = %s",
            (
                values.name(),
                values.born(),
                values.interests(),
                values.preferences(),
                values.blob(0, 5, 32),
                values.balance(),
                self._random.choice(self._customers),
            ),
        )

    def change_prices(self) -> None:
        """Update all products of a category with one statement."""
        self._change(
            "products",
            "UPDATE products SET price = LEAST(price * %s, 1000000), rating = %s"
            " WHERE category = %s",
            (self._values.factor(), self._values.rating(), self._random.choice(CATEGORIES)),
        )

    def edit_product(self) -> None:
        """Update binary, bit and time values, or add a product."""
        if self._random.random() < NEW_PRODUCT_SHARE:
            self._insert_product(self._values.sku())
            return
        self._change(
            "products",
            "UPDATE products SET weight_kg = %s, picture = %s, flags = %s, opens_at = %s,"
            " in_stock = %s WHERE sku = %s",
            (*self._product_state(), self._random.choice(self._products)),
        )

    def cancel_order(self) -> None:
        """Delete an order with all that belongs to it."""
        if not self._orders:
            return
        order = self._orders.pop(self._random.randrange(len(self._orders)))
        self._change("order_lines", "DELETE FROM order_lines WHERE order_id = %s", (order,))
        self._change("payments", "DELETE FROM payments WHERE order_id = %s", (order,))
        self._change("orders", "DELETE FROM orders WHERE id = %s", (order,))

    def forget_page_views(self) -> None:
        """Update and delete rows that have no primary key."""
        self._change("page_views", "UPDATE page_views SET customer_id = NULL LIMIT 2")
        self._change("page_views", "DELETE FROM page_views ORDER BY viewed_at LIMIT 3")

    # Primary key changes: a row goes from one key to another, and perhaps to another partition.

    def renumber_lines(self) -> None:
        """Move all lines of an order to other line numbers of a composite key."""
        if not self._orders:
            return
        self._change(
            "order_lines",
            "UPDATE order_lines SET line = line + 100 WHERE order_id = %s ORDER BY line DESC",
            (self._random.choice(self._orders),),
            records_per_row=2,
        )

    def rename_product(self) -> None:
        """Give a product another key, and the old key to a new product."""
        index = self._random.randrange(len(self._products))
        old, new = self._products[index], self._values.sku()
        self._change(
            "products",
            "UPDATE products SET sku = %s WHERE sku = %s",
            (new, old),
            records_per_row=2,
        )
        self._products[index] = new
        self._insert_product(old)

    # Changes that must not be visible: rolled back in part, or as a whole.

    def change_mind(self) -> None:
        """Roll back a part of a transaction: the changes before the savepoint are committed."""
        self._change(
            "customers",
            "UPDATE customers SET balance = -balance WHERE id = %s",
            (self._random.choice(self._customers),),
        )
        kept = self.pending.copy()
        self._cursor.execute("SAVEPOINT before_order")
        self._insert_order()
        self._cursor.execute("ROLLBACK TO SAVEPOINT before_order")
        self.pending = kept

    def regret(self) -> None:
        """Change many rows; the caller rolls them back."""
        self._change("orders", "UPDATE orders SET note = 'never seen', status = 'returned'")
        self._change("payments", "DELETE FROM payments")
        self._browse(3)

    def _change(
        self, table: str, statement: str, values: Sequence[object] = (), records_per_row: int = 1
    ) -> None:
        self._cursor.execute(statement, values)
        self.pending[table] += self._cursor.rowcount * records_per_row

    def _insert(self, table: str, columns: str, rows: Sequence[Sequence[object]]) -> None:
        row = f"({', '.join(['%s'] * len(rows[0]))})"
        self._change(
            table,
            f"INSERT INTO {table} ({columns}) VALUES {', '.join([row] * len(rows))}",  # noqa: S608 - our own names
            [value for values in rows for value in values],
        )

    def _insert_customers(self, number: int) -> None:
        values = self._values
        self._insert(
            "customers",
            "email, name, born, newsletter, interests, preferences, fingerprint, balance,"
            " created_at",
            [
                (
                    values.email(),
                    values.name(),
                    values.born(),
                    values.bits(1),
                    values.interests(),
                    values.preferences(),
                    values.blob(0, 5, 32),
                    values.balance(),
                    values.moment(),
                )
                for _ in range(number)
            ],
        )
        first = self._cursor.lastrowid or 0
        self._customers.extend(range(first, first + number))

    def _insert_product(self, sku: str) -> None:
        values = self._values
        self._insert(
            "products",
            "sku, title, category, description, price, rating, introduced,"
            " weight_kg, picture, flags, opens_at, in_stock",
            [
                (
                    sku,
                    f"{values.name()} {values.bits(9)}",
                    self._random.choice(CATEGORIES),
                    values.text(),
                    values.money(2),
                    values.rating(),
                    values.year(),
                    *self._product_state(),
                )
            ],
        )
        self._products.append(sku)

    def _product_state(self) -> tuple[object, ...]:
        """Return weight_kg, picture, flags, opens_at and in_stock."""
        values = self._values
        return (
            values.weight(),
            values.blob(0, 7, 400),
            values.bits(12),
            values.time(),
            values.bits(8),
        )

    def _insert_order(self) -> int:
        values = self._values
        columns = "customer_id, status, placed_at, wanted_on, total, note"
        row: list[object] = [
            self._random.choice(self._customers),
            "new",
            values.moment(),
            values.day(),
            values.money(4),
            values.maybe("Ring twice 🎁"),
        ]
        # Half of the orders use the default of the new column.
        if self._has_channel and values.bits(1):
            columns += ", channel"
            row.append(self._random.choice(CHANNELS))
        self._insert("orders", columns, [row])
        order = self._cursor.lastrowid or 0
        self._insert(
            "order_lines",
            "order_id, line, sku, quantity, unit_price, gift_text",
            [
                (
                    order,
                    line,
                    self._random.choice(self._products),
                    self._random.randint(-3, 900),
                    values.money(2),
                    values.maybe("With thanks"),
                )
                for line in range(1, self._random.randint(2, 6))
            ],
        )
        return order

    def _browse(self, number: int) -> None:
        view = (self._values.moment(), self._random.choice(self._customers), "/shelf")
        self._insert("page_views", "viewed_at, customer_id, path", [view] * number)
