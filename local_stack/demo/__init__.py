"""The whole product at work, on real servers, with a verdict at the end."""
