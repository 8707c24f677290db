"""`python -m connector` is `binlog-connector`."""

from connector.cli import main

if __name__ == "__main__":
    main()
