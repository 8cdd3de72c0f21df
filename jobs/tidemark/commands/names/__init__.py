"""Names of tables that stay while versions change: a link beside the versions, and views in catalogs."""
