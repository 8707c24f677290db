"""The demo: the whole product on real servers, with a verdict at the end."""

from connector.lake.demo.configuration import DemoOptions
from connector.lake.demo.run import run_demo

__all__ = ["DemoOptions", "run_demo"]
