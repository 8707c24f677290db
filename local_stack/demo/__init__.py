"""The demo: the whole product on real servers, with a verdict at the end."""

from local_stack.demo.configuration import DemoOptions
from local_stack.demo.run import run_demo

__all__ = ["DemoOptions", "run_demo"]
