"""Each event carries a hash of itself and of all before it; events of the version before have none."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column."""
    op.add_column("events", sa.Column("chain", sa.Text))


def downgrade() -> None:
    """Drop it."""
    op.drop_column("events", "chain")
