"""What every package uses and what uses none of them: names, record batches, settings, errors."""

from typing import Final

# The package takes it from here, and so does the product: importlib.metadata would read it from the
# installed package, which takes as long as the other imports of a short command together.
VERSION: Final = "0.1.0"
