"""What Alembic runs: the migrations, on the connection that the store already holds."""

from alembic import context


def run() -> None:
    """Bring the database up to date."""
    context.configure(connection=context.config.attributes["connection"])
    context.run_migrations()


if not __name__.startswith("summeter."):  # Alembic loads this file under a name of its own
    run()
