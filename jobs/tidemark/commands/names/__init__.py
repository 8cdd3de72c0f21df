"""Names of tables that readers keep while versions change: a link beside the versions, and views in catalogs."""
