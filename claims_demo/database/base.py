"""Django's PostgreSQL backend, from version 16, starting the embedded server when needed."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.db.backends.postgresql import base, client, features

from claims_demo.database.programs import programs_for
from claims_demo.database.server import EmbeddedServer


class DatabaseFeatures(features.DatabaseFeatures):
    """Makes Django refuse an older server at its first connection."""

    minimum_database_version = (16,)


class DatabaseClient(client.DatabaseClient):
    """`manage.py dbshell`, with the `psql` that comes with the embedded server."""

    connection: "DatabaseWrapper"

    def runshell(self, parameters: Iterable[str]) -> None:
        """Runs `psql` on the server, which by then runs."""
        self.connection.start_embedded_server()
        super().runshell(parameters)

    @classmethod
    def settings_to_cmd_args_env(
        cls, settings_dict: dict[str, Any], parameters: Iterable[str]
    ) -> tuple[list[str], dict[str, str] | None]:
        """The command line and the variables it needs."""
        command, variables = super().settings_to_cmd_args_env(settings_dict, parameters)
        if data_dir := settings_dict.get("EMBEDDED"):
            data = EmbeddedServer.at(Path(data_dir)).cluster.directory
            command[0] = str(programs_for(data) / client.DatabaseClient.executable_name)
        return command, variables


class DatabaseWrapper(base.DatabaseWrapper):
    """Connects to the server named by the settings; `EMBEDDED` names a data directory."""

    client_class = DatabaseClient
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
