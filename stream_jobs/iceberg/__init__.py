"""The Iceberg tables of a mirror: the same Parquet files as the Delta tables, with other metadata.

https://iceberg.apache.org/spec/
"""
