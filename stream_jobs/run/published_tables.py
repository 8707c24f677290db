"""Which tables of a mirror are Iceberg tables, too."""

from stream_jobs.source.table_schema import TableSchema
from stream_jobs.tables.schema_registry import SchemaRegistry
from stream_jobs.tables.table_options import TableOptionsResolver


class PublishedTables:
    """The tables that are published, as far as their column lists were read."""

    def __init__(self, registry: SchemaRegistry, choices: TableOptionsResolver) -> None:
        """Take those of `registry` for which `choices` want it."""
        self._registry = registry
        self._choices = choices

    def schema(self, topic: str) -> TableSchema | None:
        """Return the newest column list of a table that is published; None if it is not.

        It has the name of the mirror, which shards share.
        """
        history = self._registry.history(topic)
        if not history or history[-1].chosen.is_skipped:
            return None
        newest = history[-1]
        is_iceberg = self._choices.has_iceberg(newest.database, newest.table)
        return newest.of_mirror if is_iceberg else None

    def schemas(self) -> list[TableSchema]:
        """Return what `schema` does for all tables, once for each mirror."""
        schemas = map(self.schema, self._registry.topics())
        return list({schema.name: schema for schema in schemas if schema is not None}.values())

    def places(self) -> list[tuple[str, str]]:
        """Return the names of their mirrors: database and table."""
        return [schema.place for schema in self.schemas()]
