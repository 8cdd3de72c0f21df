"""Commands that run in a session which a server keeps: `tidemark serve` is the server, `--warm` its client."""
