"""Commands in a session that a server keeps: `tidemark serve` is the server, `--warm` its client."""
