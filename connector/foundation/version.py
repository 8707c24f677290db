"""The version of the product; the package takes it from here.

importlib.metadata would read it from the installed package, which takes as long as the other
imports of a short command together.
"""

from typing import Final

VERSION: Final = "0.1.0"
