"""Django's PostgreSQL backend, from version 16, starting the embedded server when needed."""

from pathlib import Path
from typing import Any

from django.db.backends.postgresql import base, features

from claims_demo.database.server import EmbeddedServer


class DatabaseFeatures(features.DatabaseFeatures):
    """Makes Django refuse an older server at its first connection."""

    minimum_database_version = (16,)


class DatabaseWrapper(base.DatabaseWrapper):
    """Connects to the server named by the settings; `EMBEDDED` names a data directory."""

    features_class = DatabaseFeatures

    def get_connection_params(self) -> dict[str, Any]:
        """Connection parameters; by then the embedded server runs."""
        self.start_embedded_server()
        return super().get_connection_params()

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """A connection, also when the embedded server died since the pool was filled."""
        self.start_embedded_server()
        return super().get_new_connection(conn_params)

    def start_embedded_server(self) -> None:
        """Does nothing when it runs already, or when the database is somewhere else."""
        if data_dir := self.settings_dict.get("EMBEDDED"):
            server = EmbeddedServer.at(Path(data_dir))
            self.settings_dict["HOST"] = str(server.ensure_running())
