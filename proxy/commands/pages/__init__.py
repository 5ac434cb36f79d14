"""Pages made from the parsers of the commands: manuals, and tables of docs/cli.md."""
