"""What Alembic runs: the migrations, on the connection that the store already holds."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
